package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// A broker that loses what it had acknowledged: the target cannot help it. The
// verdict is unknown, and the broker is blamed by name.
func TestABrokerThatLosesWhatItAcknowledgedIsToBlame(t *testing.T) {
	for _, c := range []struct {
		name, scenario string
		// The broker loses the event of lost when that of when is published.
		lost, when string
	}{
		{"at once", twoOrders, "o1", "o1"},
		{"the last one", twoOrders, "o2", "o2"},
		{"at once, and a relay dies", faulted(twoOrders, at(`relay.0/broker "publish" #2 unanswered`, "kill")), "o1", "o1"},
		// The log was read meanwhile: nothing but the loss keeps it from the consumer.
		{"before it was delivered", faulted(twoOrders, killed(`consumer.0/broker "deliver" #1 before`, "never")), "o1", "o2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := borrow(t)
			r := prepared(t, s, reference(t))
			l := lose(t, s, c.lost, c.when)
			v, err := r.try(t.Context(), 0, parse(t, c.scenario))
			if err != nil {
				t.Fatal(err)
			}
			if lost := l.stop(); lost != 1 {
				t.Fatalf("the broker lost %d events, want 1", lost)
			}
			if err := r.take(t.Context(), 0, v, "a run"); err != nil {
				t.Fatal(err)
			}
			result := r.result(0)
			if result.Verdict != properties.UnknownResult || v.judgement.Verdict != properties.UnknownResult {
				t.Errorf("the verdict is %s, of the trial %s; want unknown:\n%s", result.Verdict, v.judgement.Verdict, v.told())
			}
			if want := "the broker: it "; !strings.HasPrefix(result.Blame, want) || !strings.Contains(result.Blame, "the event of "+c.lost) {
				t.Errorf("to blame is %q, want %q and the event of %s:\n%s", result.Blame, want, c.lost, v.told())
			}
			if !v.fired() {
				t.Errorf("%d of %d faults struck: %s", v.struck(), len(v.scenario.Faults), v.whyUnfired())
			}
		})
	}
}

// loser makes a session's broker lose events: it deletes them from the stream
// on a connection that counts as one of the harness's own.
type loser struct {
	cancel context.CancelFunc
	conn   *nats.Conn
	done   chan struct{}
	lost   int
	err    error
	t      *testing.T
}

// lose waits in the background for the publication of the order when, and then
// deletes the first event of the order lost.
func lose(t *testing.T, s *Session, lost, when string) *loser {
	t.Helper()
	conn, err := nats.Connect(directBroker(s), nats.Name("outboxtest"))
	if err != nil {
		t.Fatal(err)
	}
	// The subject of a trial's stream is its name with a second word.
	published, err := conn.SubscribeSync("*.events")
	if err == nil {
		err = conn.Flush()
	}
	if err != nil {
		conn.Close()
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := &loser{t: t, conn: conn, done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(l.done)
		if l.err = l.wait(ctx, published, lost, when); l.err == nil {
			l.lost++
		}
	}()
	return l
}

func (l *loser) wait(ctx context.Context, published *nats.Subscription, lost, when string) error {
	js, err := jetstream.New(l.conn)
	if err != nil {
		return err
	}
	for {
		msg, err := published.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("wait for the event of %s: %w", when, err)
		}
		if order, err := parts.OrderOf(msg.Data); err != nil || order != when {
			continue
		}
		stream, err := js.Stream(ctx, strings.TrimSuffix(msg.Subject, ".events"))
		if err != nil {
			return err
		}
		return forgetEvent(ctx, stream, lost)
	}
}

// forgetEvent deletes the order's event as soon as the stream holds it.
func forgetEvent(ctx context.Context, stream jetstream.Stream, order string) error {
	for seq := uint64(1); ; {
		held, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // not stored yet
		}
		if err != nil {
			return err
		}
		if of, err := parts.OrderOf(held.Data); err == nil && of == order {
			return stream.DeleteMsg(ctx, seq)
		}
		seq++
	}
}

// stop ends the wait and returns how many events were lost.
func (l *loser) stop() int {
	l.t.Helper()
	l.cancel()
	<-l.done
	l.conn.Close()
	if l.err != nil {
		l.t.Errorf("make the broker lose an event: %v", l.err)
	}
	return l.lost
}
