package trial

import (
	"context"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// A consumer that was started again has its grace from when it comes to the
// broker, however long the machine takes for that. One that does not come though
// it runs, does nothing.
func TestTheGraceBeginsWhenTheConsumerIsThere(t *testing.T) {
	const promise = 150 * time.Millisecond
	for _, test := range []struct {
		name string
		away time.Duration // since the wait began
		ends time.Duration
	}{
		{"there", 0, promiseTimes * promise},
		{"slow to start", 20 * time.Second, 20*time.Second + promiseTimes*promise},
		{"never there", time.Hour, absentMost + promiseTimes*promise},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, held := range []bool{false, true} {
				c := &clock{at: time.Unix(0, 0), step: 10 * time.Millisecond}
				l := ledgers{
					log:     []properties.Message{{Position: 1, Order: "o1", EventID: "e1"}},
					backlog: []properties.Backlog{{Consumer: "kitchen"}},
				}
				ends := test.ends
				if held { // everything is applied, and what was not acknowledged may come again
					l.committed = []properties.Row{{Order: "o1"}}
					l.applied = []properties.Effect{{EventID: "e1", Consumer: "kitchen", Count: 1}}
					l.backlog[0].Unacked = 1
					l.ackWait = stack.AckWait(time.Minute)
					ends = test.ends - promiseTimes*promise + 3*time.Second
				}
				d := waiting(t, c, &l, targets.Drain{Seconds: promise.Seconds()})
				d.t.job.target.Consumer = &targets.Consumer{Names: []string{"kitchen"}}
				begin := d.begin
				d.attended = func() bool { return d.now.Sub(begin) >= test.away }
				// What the relay has done does not hold the wait up.
				d.refresh = func(context.Context) error { c.at = c.at.Add(100 * time.Millisecond); return nil }
				if err := d.conclude(t.Context()); err != nil {
					t.Fatal(err)
				}
				drained, _ := ended(t, d.rec)
				if drained.Basis != properties.BasisComplete || drained.Consumers == held || drained.Time < ends || drained.Time > ends+time.Second {
					t.Errorf("held: %t: it ended on %s, the grace spent: %t, after %v; want %v", held, drained.Basis, drained.Consumers, drained.Time, ends)
				}
			}
		})
	}
}

// The broker is hastened once after each hurt, and only about what a consumer
// would wait for longer than a trial can.
func TestTheBrokerIsHastenedOnceAfterEachHurt(t *testing.T) {
	c := &clock{at: time.Unix(0, 0), step: 100 * time.Millisecond}
	l := ledgers{backlog: []properties.Backlog{{Consumer: "kitchen", Unacked: 1}}, ackWait: stack.AckWait(2 * time.Second)}
	d := waiting(t, c, &l, targets.Drain{Seconds: 1})
	d.t.scenario = scenario.Scenario{Faults: []faults.Fault{{Do: faults.Kill}}}
	times := 0
	d.again = func(_ context.Context, within time.Duration) error {
		times++
		if within != hastenTo-hastenAfter {
			t.Errorf("within %v", within)
		}
		return nil
	}
	turns := func(hurt time.Time, healthy bool) int {
		times = 0
		for range 30 {
			d.turn(hurt, healthy)
			if err := d.hasten(t.Context(), hurt, healthy); err != nil {
				t.Fatal(err)
			}
		}
		return times
	}
	first, second := c.at.Add(-time.Second), c.at
	for _, step := range []struct {
		what    string
		hurt    time.Time
		healthy bool
		unacked int64
		wait    time.Duration
		want    int
	}{
		{"while a fault is in force", first, false, 1, 2 * time.Second, 0},
		{"with nothing delivered", first, true, 0, 2 * time.Second, 0},
		{"where the wait is short", first, true, 1, time.Second, 0},
		{"after a hurt", first, true, 1, 2 * time.Second, 1},
		{"after no other hurt", first, true, 1, 2 * time.Second, 0},
		{"after another hurt", second, true, 1, 2 * time.Second, 1},
	} {
		l.backlog[0].Unacked, l.ackWait = step.unacked, stack.AckWait(step.wait)
		if got := turns(step.hurt, step.healthy); got != step.want {
			t.Errorf("%s: hastened %d times, want %d", step.what, got, step.want)
		}
	}
}
