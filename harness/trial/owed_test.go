package trial

import (
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// What a relay has published and not marked when it is struck comes again, however
// long that takes; what it does with other rows meanwhile says nothing about it.
func TestWhatIsPublishedAndNotMarkedIsOwed(t *testing.T) {
	relay, other := faults.Instance{Role: "relay"}, faults.Instance{Role: "relay", Index: 1}
	type step func(*recorder)
	seen := func(on faults.Instance, server faults.Server, what, label string, e frame.Event) step {
		return func(r *recorder) {
			r.observe(wire.Observation{Link: faults.Link{Instance: on, Server: server}, Conn: on.Index + 1, What: what, Label: label, Event: e})
		}
	}
	publish := func(on faults.Instance, body string) step {
		return seen(on, faults.Broker, properties.WireRequest, "publish", frame.Event{Message: &frame.Message{Subject: "orders", Data: []byte(body)}})
	}
	postgres := func(what string, e frame.Event) step { return seen(relay, faults.Postgres, what, "statement", e) }
	mark := postgres(properties.WireReply, frame.Event{Write: true, Ended: "commit"})
	update := postgres(properties.WireReply, frame.Event{Write: true, InTransaction: true})
	commit := postgres(properties.WireReply, frame.Event{Ended: "commit"})
	fired := func(on string) step {
		return func(r *recorder) {
			r.add(properties.Event{Kind: properties.KindFault, Fault: &properties.Fault{What: "fired", On: on}})
		}
	}
	started := func(r *recorder) {
		r.add(properties.Event{Kind: properties.KindProcess, Process: &properties.Process{Instance: "relay.0", What: "started"}})
	}
	one, two := `{"order":"o1"}`, `{"order":"o2"}`
	for _, c := range []struct {
		name string
		what []step
		want bool
	}{
		{"nothing was struck", []step{started, publish(relay, one)}, false},
		{"killed before it marked", []step{started, publish(relay, one), fired("relay.0"), started}, true},
		{"exited before it marked", []step{started, publish(relay, one), started}, true},
		{"cut before it marked", []step{started, publish(relay, one), fired("relay.0/postgres")}, true},
		{"another was struck", []step{started, publish(relay, one), fired("relay.1"), fired("app.0")}, false},
		{"published again", []step{publish(relay, one), fired("relay.0"), publish(relay, one)}, false},
		{"published again by another", []step{publish(relay, one), fired("relay.0"), publish(other, one)}, false},
		{"another row is published and marked", []step{publish(relay, one), fired("relay.0"), publish(relay, two), mark}, true},
		{"one of two is published again", []step{publish(relay, one), publish(relay, two), fired("relay.0"), publish(relay, two)}, true},
		{"marked", []step{publish(relay, one), mark, fired("relay.0")}, false},
		{"marked, which it did not learn", []step{publish(relay, one), postgres(properties.WireAnswered, frame.Event{Write: true, Ended: "commit"}), fired("relay.0")}, false},
		{"marked in a transaction", []step{publish(relay, one), update, commit, fired("relay.0")}, false},
		{"marked in a transaction that was not committed", []step{publish(relay, one), update, fired("relay.0")}, true},
		{"marked in a transaction that was rolled back", []step{publish(relay, one), update, postgres(properties.WireReply, frame.Event{Ended: "rollback"}), fired("relay.0")}, true},
		{"only read in a transaction", []step{publish(relay, one), commit, fired("relay.0")}, true},
		{"its position confirmed", []step{publish(relay, one), postgres(properties.WireOneWay, frame.Event{}), fired("relay.0")}, false},
		{"an old position confirmed", []step{publish(relay, one), postgres(properties.WireOneWay, frame.Event{Idle: true}), fired("relay.0")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader, err := targets.EventRules{Order: "body:$.order", ID: "header:Event-Id"}.Compile()
			if err != nil {
				t.Fatal(err)
			}
			r := newRecorder(reader, false, (&clock{at: time.Unix(0, 0), step: time.Millisecond}).read)
			for _, do := range c.what {
				do(r)
			}
			if got := r.owing(); got != c.want {
				t.Errorf("owing: %t, want %t", got, c.want)
			}
		})
	}
}

// Without a pending query the promise is what a lease is given: a trial is not
// complete before.
func TestTheEndWaitsForWhatIsOwed(t *testing.T) {
	zero := int64(0)
	for _, c := range []struct {
		name    string
		owed    bool
		pending *int64
		least   time.Duration
		most    time.Duration
	}{
		{"nothing", false, nil, 0, 2 * time.Second},
		{"something", true, nil, 12 * time.Second, 14 * time.Second},
		{"something, and pending says that it is marked", true, &zero, 0, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			clk := &clock{at: time.Unix(0, 0), step: 200 * time.Millisecond}
			d := waiting(t, clk, &ledgers{
				committed: []properties.Row{{Order: "o1"}},
				log:       []properties.Message{{Position: 1, Order: "o1", EventID: "e1"}},
				applied:   []properties.Effect{{EventID: "e1", Consumer: "kitchen", Count: 1}},
				backlog:   []properties.Backlog{{Consumer: "kitchen"}},
				pending:   c.pending,
			}, targets.Drain{Polls: 3, Seconds: 12})
			d.t.job.target.Consumer = &targets.Consumer{Names: []string{"kitchen"}}
			d.rec.debts.owed["e1"] = c.owed
			if !c.owed {
				delete(d.rec.debts.owed, "e1")
			}
			if err := d.conclude(t.Context()); err != nil {
				t.Fatal(err)
			}
			drained, _ := ended(t, d.rec)
			if drained.Basis != properties.BasisComplete || drained.Time < c.least || drained.Time > c.most {
				t.Errorf("it ended on %s after %v; want complete after %v to %v", drained.Basis, drained.Time, c.least, c.most)
			}
		})
	}
}
