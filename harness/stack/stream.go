package stack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Stream is the stream of one trial.
type Stream struct {
	// Name is its name on the server.
	Name string
	// Subjects are what it takes.
	Subjects []string

	n       *NATS
	release func()
}

// Stream makes a stream with file storage and a name of its own. Without
// subjects it gets one of its own; those given must not be taken by another
// stream of the server, so the one of the trial before is dropped first. The
// caller drops it.
func (n *NATS) Stream(ctx context.Context, subjects []string) (*Stream, error) {
	s := &Stream{Name: namePrefix + n.runID + "_" + strconv.FormatInt(n.serial.Add(1), 10), Subjects: subjects, n: n}
	if len(subjects) == 0 {
		s.Subjects = []string{s.Name + ".events"}
	}
	s.release = func() {}
	if n.child == nil {
		var err error
		if s.release, err = undoThing(n.guard, undoDropStream, thing{URL: n.address.String(), Name: s.Name}); err != nil {
			return nil, err
		}
	}
	_, js, _ := n.links()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: s.Name, Subjects: s.Subjects, Storage: jetstream.FileStorage, Replicas: 1,
		// For reading the log without a consumer.
		AllowDirect: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make the stream %s for %s: %w", s.Name, strings.Join(s.Subjects, ", "), err)
	}
	return s, nil
}

// PublishSubject is the subject to give to who publishes to a stream: its first
// subject without wildcards, or a subject that its first pattern takes.
func PublishSubject(subjects []string) string {
	for _, s := range subjects {
		if !strings.ContainsAny(s, "*>") {
			return s
		}
	}
	if len(subjects) == 0 {
		return ""
	}
	tokens := strings.Split(subjects[0], ".")
	for i, token := range tokens {
		if token == "*" || token == ">" {
			tokens[i] = "event"
		}
	}
	return strings.Join(tokens, ".")
}

// AckWait is how long a broker waits for an acknowledgement before it delivers
// again.
type AckWait time.Duration

// Consumer is what the broker says of a consumer of the stream.
type Consumer struct {
	Name string
	// Pending is how many messages it has still to be sent; AckPending how many
	// it was sent and has not acknowledged; Redelivered how many of those were
	// sent more than once.
	Pending, AckPending, Redelivered int
	// Delivered is the stream sequence of the last message sent, AckFloor that up
	// to which all are acknowledged.
	Delivered, AckFloor uint64
	AckWait             AckWait
	// Durable: it stays when nobody uses it. Attended: somebody waits for its next
	// message.
	Durable, Attended bool
}

// LongestAckWait is the longest of the consumers'; 0 when there is none.
func LongestAckWait(consumers []Consumer) AckWait {
	var longest AckWait
	for _, c := range consumers {
		longest = max(longest, c.AckWait)
	}
	return longest
}

// Consumers lists the stream's consumers.
func (s *Stream) Consumers(ctx context.Context) ([]Consumer, error) {
	_, js, _ := s.n.links()
	stream, err := js.Stream(ctx, s.Name)
	if err != nil {
		return nil, fmt.Errorf("list the consumers of the stream %s: %w", s.Name, err)
	}
	lister := stream.ListConsumers(ctx)
	var list []Consumer
	for info := range lister.Info() {
		list = append(list, Consumer{
			Name: info.Name, Pending: int(info.NumPending), AckPending: info.NumAckPending, Redelivered: info.NumRedelivered,
			Delivered: info.Delivered.Stream, AckFloor: info.AckFloor.Stream, AckWait: AckWait(info.Config.AckWait),
			Durable: info.Config.Durable != "", Attended: info.PushBound || info.NumWaiting > 0,
		})
	}
	if err := lister.Err(); err != nil {
		return nil, fmt.Errorf("list the consumers of the stream %s: %w", s.Name, err)
	}
	return list, nil
}

// Drop deletes the stream with its consumers. Calling it again does nothing.
func (s *Stream) Drop(ctx context.Context) error {
	_, js, _ := s.n.links()
	if js == nil {
		return fmt.Errorf("drop the stream %s: the stack is closed", s.Name)
	}
	if err := js.DeleteStream(ctx, s.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("drop the stream %s: %w", s.Name, err)
	}
	s.release()
	return nil
}
