package stack

import (
	"context"
	"fmt"
	"time"
)

// hastenPatience bounds the wait until the broker has taken what it is told, when
// the context does not.
const hastenPatience = 10 * time.Second

// Hasten has the broker deliver again, within the given time, what is not
// acknowledged by then, to the consumers that asked for a longer wait. What they
// asked for stays as it is: a client that declares its consumer again, as after a
// restart, is refused by the server where the two differ.
//
// A refusal (-NAK) with a delay does it, as a client would send one. The server
// goes by the stream sequence in the subject, passes over what is not
// outstanding, and of the consumer sequence asks only that it has been given
// out: nats-server, server/consumer.go, processNak; the subject and the delay are
// those of ADR-15 and of the nats.go client.
func (s *Stream) Hasten(ctx context.Context, within time.Duration) error {
	conn, js, _ := s.n.links()
	stream, err := js.Stream(ctx, s.Name)
	if err != nil {
		return fmt.Errorf("hasten the consumers of the stream %s: %w", s.Name, err)
	}
	refusal := fmt.Appendf(nil, `-NAK {"delay": %d}`, within.Nanoseconds())
	lister := stream.ListConsumers(ctx)
	for info := range lister.Info() {
		if info.NumAckPending == 0 || info.Config.AckWait <= within {
			continue
		}
		for seq := info.AckFloor.Stream + 1; seq <= info.Delivered.Stream; seq++ {
			subject := fmt.Sprintf("$JS.ACK.%s.%s.1.%d.%d.%d.0", s.Name, info.Name, seq, info.Delivered.Consumer, time.Now().UnixNano())
			if err := conn.Publish(subject, refusal); err != nil {
				return fmt.Errorf("hasten the consumer %s: %w", info.Name, err)
			}
		}
	}
	if err := lister.Err(); err != nil {
		return fmt.Errorf("hasten the consumers of the stream %s: %w", s.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, hastenPatience)
	defer cancel()
	if err := conn.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("hasten the consumers of the stream %s: %w", s.Name, err)
	}
	return nil
}
