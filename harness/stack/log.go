package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// The headers of an answer to a direct get, see ADR-31 of the NATS project.
const (
	headerStream   = "Nats-Stream"
	headerSubject  = "Nats-Subject"
	headerSequence = "Nats-Sequence"
	headerTime     = "Nats-Time-Stamp"
	headerPending  = "Nats-Num-Pending"
	headerLast     = "Nats-Last-Sequence"
	headerStatus   = "Status"
	statusEnd      = "204"
	statusNone     = "404"
)

const (
	// readBatch is how many messages one request asks for.
	readBatch = 1000
	// readPatience bounds the wait for one batch when the context does not.
	readPatience = 30 * time.Second
)

// Message is one entry of the broker's log.
type Message struct {
	Sequence uint64
	Subject  string
	Header   nats.Header
	Data     []byte
	// Time is when the broker stored it.
	Time time.Time
}

// Log is a reading of the broker's log from a sequence on, up to what it held
// when the reading began: everything that was acknowledged before is within.
type Log struct {
	Messages []Message
	// Last is the sequence up to which was read.
	Last uint64
	// Gone are the sequences that were given out and are no longer held: what
	// the broker acknowledged and lost, or was told to delete.
	Gone []uint64
}

// Messages are those of [Stream.Log].
func (s *Stream) Messages(ctx context.Context, from uint64) ([]Message, error) {
	log, err := s.Log(ctx, from)
	return log.Messages, err
}

// Log reads the log from a sequence on; 0 and 1 are its beginning.
func (s *Stream) Log(ctx context.Context, from uint64) (Log, error) {
	log, err := s.readLog(ctx, max(from, 1))
	if err != nil {
		return Log{}, fmt.Errorf("read the log of the stream %s: %w", s.Name, err)
	}
	return log, nil
}

func (s *Stream) readLog(ctx context.Context, from uint64) (Log, error) {
	conn, js, _ := s.n.links()
	if js == nil {
		return Log{}, errors.New("the stack is closed")
	}
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	stream, err := js.Stream(ctx, s.Name) // asks the server
	if err != nil {
		return Log{}, err
	}
	state := stream.CachedInfo().State
	log := Log{Last: state.LastSeq}
	for next := from; next <= state.LastSeq && state.Msgs > 0; {
		batch, err := s.batch(ctx, conn, next, state.LastSeq)
		if err != nil {
			return Log{}, err
		}
		if len(batch) == 0 {
			break
		}
		if batch[0].Sequence < next {
			return Log{}, fmt.Errorf("the broker answers with sequence %d when asked from %d on", batch[0].Sequence, next)
		}
		log.Messages = append(log.Messages, batch...)
		next = batch[len(batch)-1].Sequence + 1
	}
	log.Gone = gaps(log.Messages, from, state.LastSeq)
	return log, nil
}

// gaps are the sequences from first to last that no message has.
func gaps(messages []Message, first, last uint64) []uint64 {
	var gone []uint64
	for _, m := range messages {
		for ; first < m.Sequence; first++ {
			gone = append(gone, first)
		}
		first = m.Sequence + 1
	}
	for ; first <= last; first++ {
		gone = append(gone, first)
	}
	return gone
}

// batch reads some messages from a sequence on, none after last. An empty batch
// is the end.
func (s *Stream) batch(ctx context.Context, conn *nats.Conn, from, last uint64) ([]Message, error) {
	if !readsBatches(s.n.version) {
		return one(ctx, conn, s.Name, from, last)
	}
	inbox := conn.NewRespInbox()
	answers, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	count := int(min(readBatch, last-from+1))
	request, err := json.Marshal(map[string]any{"seq": from, "batch": count})
	if err != nil {
		return nil, err
	}
	if err := conn.PublishRequest("$JS.API.DIRECT.GET."+s.Name, inbox, request); err != nil {
		return nil, err
	}
	var batch []Message
	for {
		answer, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		if status := answer.Header.Get(headerStatus); status != "" && answer.Header.Get(headerSequence) == "" {
			if status == statusEnd || status == statusNone {
				return batch, nil
			}
			return nil, fmt.Errorf("the broker answers %s %s", status, answer.Header.Get("Description"))
		}
		m, err := parseStored(answer)
		if err != nil {
			return nil, err
		}
		// A batch counts messages, not sequences: with gaps it reaches further.
		if m.Sequence <= last {
			batch = append(batch, m)
		}
	}
}

// readsBatches: servers have batches of direct gets since 2.11.
func readsBatches(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major > 2 || major == 2 && minor >= 11)
}

// noMessage is the error code of JetStream for a sequence that it does not hold.
const noMessage = 10037

// one reads the next message in the way of older servers.
func one(ctx context.Context, conn *nats.Conn, name string, from, last uint64) ([]Message, error) {
	for seq := from; seq <= last; seq++ {
		answer, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+name, fmt.Appendf(nil, `{"seq":%d}`, seq))
		if err != nil {
			return nil, err
		}
		m, found, err := parseGot(answer.Data)
		if err != nil {
			return nil, err
		}
		if found {
			return []Message{m}, nil
		}
	}
	return nil, nil
}

// parseGot takes the stored message out of the answer to a plain get.
func parseGot(data []byte) (m Message, found bool, err error) {
	var got struct {
		Message *struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Headers []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
		Error *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		return m, false, fmt.Errorf("read the broker's answer: %w", err)
	}
	switch {
	case got.Error != nil && got.Error.Code == noMessage:
		return m, false, nil
	case got.Error != nil:
		return m, false, fmt.Errorf("the broker answers: %s", got.Error.Description)
	case got.Message == nil:
		return m, false, errors.New("the broker's answer holds no message")
	}
	m = Message{Sequence: got.Message.Seq, Subject: got.Message.Subject, Data: got.Message.Data, Time: got.Message.Time, Header: nats.Header{}}
	if len(got.Message.Headers) > 0 {
		if m.Header, err = nats.DecodeHeadersMsg(got.Message.Headers); err != nil {
			return m, false, fmt.Errorf("read the headers of message %d: %w", m.Sequence, err)
		}
	}
	return m, true, nil
}

// parseStored takes the stored message out of the answer to a direct get. The
// broker puts its headers behind the message's own.
func parseStored(answer *nats.Msg) (Message, error) {
	last := func(name string) string {
		values := answer.Header[name]
		if len(values) == 0 {
			return ""
		}
		return values[len(values)-1]
	}
	m := Message{Subject: last(headerSubject), Data: answer.Data, Header: nats.Header{}}
	var err error
	if m.Sequence, err = strconv.ParseUint(last(headerSequence), 10, 64); err != nil {
		return m, fmt.Errorf("the broker's answer has no sequence: %w", err)
	}
	if m.Time, err = time.Parse(time.RFC3339Nano, last(headerTime)); err != nil {
		return m, fmt.Errorf("the broker's answer has no time: %w", err)
	}
	for name, values := range answer.Header {
		switch name {
		case headerStream, headerSubject, headerSequence, headerTime, headerPending, headerLast:
			if values = slices.Clone(values[:len(values)-1]); len(values) == 0 {
				continue
			}
		}
		m.Header[name] = values
	}
	return m, nil
}
