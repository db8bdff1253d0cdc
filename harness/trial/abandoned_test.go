package trial

import (
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
)

// A process that dies leaves its consumer on the broker when that is not a durable
// one; what it holds nobody will take. Whatever may yet be used stays.
func TestAConsumerOfADeadProcessIsAbandoned(t *testing.T) {
	id := faults.Instance{Role: "consumer"}
	type step func(*recorder)
	started := func(r *recorder) {
		r.add(properties.Event{Kind: properties.KindProcess, Process: &properties.Process{Instance: "consumer.0", What: "started"}})
	}
	deliver := func(consumer string) step {
		return func(r *recorder) {
			r.observe(wire.Observation{Link: faults.Link{Instance: id, Server: faults.Broker}, What: properties.WirePush, Label: "ping",
				Event: frame.Event{Message: &frame.Message{Consumer: consumer}}})
		}
	}
	old, young := stack.Consumer{Name: "old"}, stack.Consumer{Name: "young"}
	durable := func(c stack.Consumer) stack.Consumer { c.Durable = true; return c }
	for _, c := range []struct {
		name       string
		what       []step
		old, young stack.Consumer
		want       bool
	}{
		{"another life has its own", []step{started, deliver("old"), started, deliver("young")}, old, young, true},
		{"the process lives", []step{started, deliver("old"), deliver("young")}, old, young, false},
		{"the next life has none yet", []step{started, deliver("old"), started}, old, young, false},
		{"the next life uses it", []step{started, deliver("old"), started, deliver("young"), deliver("old")}, old, young, false},
		{"it never delivered", []step{started, started, deliver("young")}, old, young, false},
		{"it is durable", []step{started, deliver("old"), started, deliver("young")}, durable(old), young, false},
		{"the next life has a durable one", []step{started, deliver("old"), started, deliver("young")}, old, durable(young), false},
		{"somebody waits for it", []step{started, deliver("old"), started, deliver("young")}, stack.Consumer{Name: "old", Attended: true}, young, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecorder(nil, false, (&clock{at: time.Unix(0, 0), step: time.Millisecond}).read)
			for _, do := range c.what {
				do(r)
			}
			if got := r.abandoned(c.old, []stack.Consumer{c.old, c.young}); got != c.want {
				t.Errorf("abandoned: %t, want %t", got, c.want)
			}
		})
	}
}
