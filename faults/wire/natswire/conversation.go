package natswire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// Conversation follows one NATS connection. The zero value is not ready: use
// [New].
type Conversation struct {
	exchanges uint64
	// connecting is the exchange of a CONNECT that is not confirmed yet.
	connecting uint64
	waiting    waiting
	scratch    [2][1]frame.Event
}

var _ frame.Conversation = (*Conversation)(nil)

// New returns the conversation of a fresh connection.
func New() *Conversation { return &Conversation{waiting: newWaiting()} }

// Read takes the meaning of one message. The slice that it returns is good
// until the next Read of the same direction.
func (c *Conversation) Read(dir frame.Direction, f []byte) ([]frame.Event, error) {
	l, err := read(dir, f)
	if err != nil {
		return nil, err
	}
	if l.size == 0 {
		return nil, fmt.Errorf("nats: %.20q is no whole message", f)
	}
	switch l.verb {
	case info:
		var told serverInfo
		_ = json.Unmarshal(l.text, &told) // what cannot be read tells nothing
		return c.one(dir, frame.Event{Kind: frame.Part, Backend: told.ClientID}), nil
	case connect:
		event := c.begin(frame.Request, "connect", nil)
		c.connecting = event.Exchange
		return c.one(dir, event), nil
	case pong, ok, fail:
		if dir == frame.FromServer {
			return c.one(dir, c.connected(l)), nil
		}
	case pub, hpub:
		return c.one(dir, c.published(l, message(l, f))), nil
	case msg, hmsg:
		return c.one(dir, c.delivered(l, message(l, f), f)), nil
	}
	return c.one(dir, frame.Event{Kind: frame.Part}), nil
}

// one is a single event, in the memory that the direction has for it.
func (c *Conversation) one(dir frame.Direction, e frame.Event) []frame.Event {
	s := &c.scratch[dir]
	s[0] = e
	return s[:1:1]
}

// begin numbers an event.
func (c *Conversation) begin(k frame.Kind, label string, m *frame.Message) frame.Event {
	c.exchanges++
	return frame.Event{Kind: k, Exchange: c.exchanges, Label: label, Message: m}
}

// connected takes PONG, +OK or -ERR, the first of which ends the exchange of
// CONNECT.
func (c *Conversation) connected(l line) frame.Event {
	if c.connecting == 0 {
		return frame.Event{Kind: frame.Part}
	}
	event := frame.Event{Kind: frame.Reply, Exchange: c.connecting, Label: "connect", Rows: -1}
	if l.verb == fail {
		event.Error = oneLine(string(bytes.Trim(l.text, "' ")))
	}
	c.connecting = 0
	return event
}

// published takes a client's PUB or HPUB.
func (c *Conversation) published(l line, m *frame.Message) frame.Event {
	label, answered := labelOf(m)
	if m.Reply == "" || !answered {
		return c.begin(frame.OneWay, label, m)
	}
	event := c.begin(frame.Request, label, m)
	c.waiting.add(m.Reply, pending{exchange: event.Exchange, label: label})
	return event
}

// delivered takes a server's MSG or HMSG.
func (c *Conversation) delivered(l line, m *frame.Message, f []byte) frame.Event {
	status := statusOf(l, f)
	delivery := strings.HasPrefix(m.Reply, ackPrefix)
	if !delivery && !strings.HasPrefix(status, "1") {
		if p, found := c.waiting.take(m.Subject); found {
			return reply(p, m, status)
		}
	}
	if status != "" && l.data == l.header {
		return frame.Event{Kind: frame.Part}
	}
	if delivery {
		m.Sequence, m.Consumer = origin(m.Reply)
	}
	return c.begin(frame.Push, "deliver", m)
}

// reply ends the exchange that waits for m.
func reply(p pending, m *frame.Message, status string) frame.Event {
	event := frame.Event{Kind: frame.Reply, Exchange: p.exchange, Label: p.label, Rows: -1, Message: m}
	if code, _, _ := strings.Cut(status, " "); code >= "400" {
		event.Error = statusError(status)
		return event
	}
	if p.label != "publish" && !strings.HasPrefix(p.label, "api ") {
		return event
	}
	var told struct {
		Stream    string `json:"stream"`
		Seq       uint64 `json:"seq"`
		Duplicate bool   `json:"duplicate"`
		Error     *struct {
			Code        int    `json:"code"`
			ErrCode     int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if len(m.Data) == 0 || m.Data[0] != '{' || json.Unmarshal(m.Data, &told) != nil {
		return event
	}
	switch {
	case told.Error != nil:
		code := told.Error.ErrCode
		if code == 0 {
			code = told.Error.Code
		}
		event.Error = fmt.Sprintf("%d: %s", code, oneLine(told.Error.Description))
	case p.label == "publish" && told.Stream != "":
		m.Sequence = told.Seq
		event.Write = !told.Duplicate
	}
	return event
}
