package trial

import (
	"context"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

func TestARelayIsBackWhenItHasTurnedToItsWork(t *testing.T) {
	relay := faults.Instance{Role: "relay"}
	wired := func(on faults.Instance, server faults.Server, label string, e frame.Event) func(*recorder) {
		return func(r *recorder) {
			r.observe(wire.Observation{Link: faults.Link{Instance: on, Server: server}, What: properties.WireReply, Label: label, Event: e})
		}
	}
	process := func(what string) func(*recorder) {
		return func(r *recorder) {
			r.add(properties.Event{Kind: properties.KindProcess, Process: &properties.Process{Instance: "relay.0", What: what}})
		}
	}
	fault := func(what, on string) func(*recorder) {
		return func(r *recorder) {
			r.add(properties.Event{Kind: properties.KindFault, Fault: &properties.Fault{What: what, On: on}})
		}
	}
	poll := wired(relay, faults.Postgres, "select outbox", frame.Event{Idle: true})
	work := wired(relay, faults.Broker, "publish", frame.Event{Write: true})
	connect := wired(relay, faults.Postgres, "connect", frame.Event{})
	for _, c := range []struct {
		name string
		what []func(*recorder)
		want bool
	}{
		{"never disturbed", []func(*recorder){process("started")}, true},
		{"killed, not started yet", []func(*recorder){process("started"), poll, fault("fired", "relay.0"), process("killed")}, false},
		{"started again", []func(*recorder){process("started"), poll, fault("fired", "relay.0"), process("started")}, false},
		{"connected again", []func(*recorder){process("started"), poll, fault("fired", "relay.0"), process("started"), connect}, false},
		{"polls again", []func(*recorder){process("started"), poll, fault("fired", "relay.0"), process("started"), connect, poll}, true},
		{"works again", []func(*recorder){process("started"), poll, fault("fired", "relay.0/broker"), fault("healed", "relay.0/broker"), work}, true},
		{"polled while it was cut off", []func(*recorder){process("started"), fault("fired", "relay.0/broker"), poll, fault("healed", "relay.0/broker")}, false},
		{"exited and was started again", []func(*recorder){process("started"), poll, process("exited"), process("started")}, false},
		{"another was struck", []func(*recorder){process("started"), poll, fault("fired", "app.0"), fault("healed", "consumer.0/broker")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := &clock{at: time.Unix(0, 0), step: time.Millisecond}
			r := newRecorder(nil, false, clock.read)
			for _, do := range c.what {
				do(r)
			}
			if got := r.back(relay); got != c.want {
				t.Errorf("back: %t, want %t", got, c.want)
			}
		})
	}
}

// A relay that shows no polls and leaves its row pending may still be about to do
// something: the promise of a fast one is no measure of that.
func TestSilenceTakesItsTimeToTell(t *testing.T) {
	one := int64(1)
	c := &clock{at: time.Unix(0, 0), step: 10 * time.Millisecond}
	d := waiting(t, c, &ledgers{
		committed: []properties.Row{{Order: "o1"}},
		log:       []properties.Message{{Position: 1, Order: "o1", EventID: "e1"}},
		applied:   []properties.Effect{{EventID: "e1", Consumer: roles.ConsumerName, Count: 1}},
		backlog:   []properties.Backlog{{Consumer: roles.ConsumerName}},
		pending:   &one,
	}, targets.Drain{Polls: 3, Seconds: 0.2})
	d.refresh = func(context.Context) error { c.at = c.at.Add(100 * time.Millisecond); return nil }
	if err := d.conclude(t.Context()); err != nil {
		t.Fatal(err)
	}
	if drained, _ := ended(t, d.rec); drained.Basis != properties.BasisComplete || drained.Time < silentLeast {
		t.Errorf("it ended on %s after %v; want %s after %v", drained.Basis, drained.Time, properties.BasisComplete, silentLeast)
	}
}
