package trial

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// clock goes on by a step each time it is read, except that the harness stands
// still before one of its readings.
type clock struct {
	at    time.Time
	step  time.Duration
	reads int
	// still is how long it stands still before reading number stop, from 1, and
	// again after every so many, if any.
	still       time.Duration
	stop, every int
	resumed     time.Time // when it last stood still no more
}

func (c *clock) read() time.Time {
	c.reads++
	c.at = c.at.Add(c.step)
	if c.stop > 0 && (c.reads == c.stop || c.every > 0 && c.reads > c.stop && (c.reads-c.stop)%c.every == 0) {
		c.at = c.at.Add(c.still)
		c.resumed = c.at
	}
	return c.at
}

// waiting is a wait for the outbox on servers that say what the ledgers hold now,
// of a relay that has been seen once.
func waiting(t *testing.T, c *clock, ledgers *ledgers, promise targets.Drain) *drain {
	t.Helper()
	j := &Job{target: targets.Target{Manifest: targets.Manifest{Drain: promise}}, log: slog.New(slog.DiscardHandler)}
	tr := &trial{job: j, rec: newRecorder(nil, false, c.read), ledgers: ledgers, board: wire.New(wire.Options{})}
	ledgers.t, ledgers.orders = tr, newOrders([]string{"o1"})
	tr.warden = newWarden(tr)
	tr.rec.observe(wire.Observation{
		Link: faults.Link{Instance: faults.Instance{Role: "relay"}, Server: faults.Postgres},
		What: properties.WireReply, Event: frame.Event{Idle: true},
	})
	t.Cleanup(func() {
		if err := tr.board.Close(); err != nil {
			t.Error(err)
		}
	})
	d := tr.newDrain(atTheEnd)
	d.refresh = func(context.Context) error { return nil }
	return d
}

// ended returns how the wait ended, the stalls that were noted, and how much of
// it counts to those who read the history.
func ended(t *testing.T, rec *recorder) (drained *properties.Drain, counted time.Duration) {
	t.Helper()
	events, _ := rec.history()
	var stalls []properties.Stall
	var at time.Duration
	for _, e := range events {
		switch e.Kind {
		case properties.KindStall:
			stalls = append(stalls, *e.Stall)
		case properties.KindDrain:
			drained, at = e.Drain, e.At
		}
	}
	if drained == nil {
		t.Fatal("the wait did not end")
	}
	return drained, min(drained.Time, properties.Waited(stalls, at-drained.Time, at))
}

// A missing event is lost when what was promised has been spent ten times while
// the harness had its turns, wherever in the wait it stood still.
func TestNoStallSpendsThePromise(t *testing.T) {
	zero := int64(0)
	row := []properties.Row{{Order: "o1"}}
	tests := []struct {
		name    string
		ledgers ledgers
		drain   targets.Drain
		basis   properties.Basis
		takes   time.Duration
	}{
		{"by the promise", ledgers{committed: row}, targets.Drain{Seconds: 0.3}, properties.BasisPromise, 3 * time.Second},
		{"by the silence of the relay", ledgers{committed: row}, targets.Drain{Polls: 3, Seconds: 0.3}, properties.BasisPromise, silentLeast},
		{"by pending", ledgers{committed: row, pending: &zero}, targets.Drain{Seconds: 1.5}, properties.BasisPendingZero, 1500 * time.Millisecond},
		{"the grace of the consumers", ledgers{
			log:     []properties.Message{{Position: 1, Order: "o1", EventID: "e1"}},
			backlog: []properties.Backlog{{Consumer: "kitchen"}},
		}, targets.Drain{Seconds: 0.15}, properties.BasisComplete, 1500 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for stop := 0; ; stop++ {
				c := &clock{at: time.Unix(0, 0), step: 600 * time.Millisecond, still: time.Minute, stop: stop}
				ledgers := test.ledgers
				d := waiting(t, c, &ledgers, test.drain)
				if err := d.conclude(t.Context()); err != nil {
					t.Fatal(err)
				}
				drained, counted := ended(t, d.rec)
				told := fmt.Sprintf("standing still before reading %d of %d: %s after %v, of which %v counts", stop, c.reads, drained.Basis, drained.Time, counted)
				if drained.Basis != test.basis || drained.Time < test.takes || drained.Time > test.takes+4*c.step {
					t.Errorf("%s; want %s after %v", told, test.basis, test.takes)
				}
				if awake := c.at.Sub(c.resumed); stop > 0 && stop <= c.reads && counted > awake {
					t.Errorf("%s; the harness has been awake for %v", told, awake)
				}
				if stop > c.reads {
					return // the wait was over before it
				}
			}
		})
	}
}

// On a machine that stands still again and again a wait ends all the same.
func TestAWaitEndsThoughItStandsStillAgainAndAgain(t *testing.T) {
	for every := 1; every < 4; every++ {
		c := &clock{at: time.Unix(0, 0), step: time.Millisecond, still: 3 * time.Second, stop: 1, every: every}
		d := waiting(t, c, &ledgers{committed: []properties.Row{{Order: "o1"}}}, targets.Drain{Polls: 3, Seconds: 2})
		if err := d.conclude(t.Context()); err != nil {
			t.Fatal(err)
		}
		drained, _ := ended(t, d.rec)
		if drained.Basis != properties.BasisNone || drained.Why == "" {
			t.Errorf("standing still every %d readings: %s: %s", every, drained.Basis, drained.Why)
		}
	}
}
