package trial

import (
	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
)

// life is one life of an instance, from 1.
type life struct {
	of     faults.Instance
	number int
}

// deliveries are the lives that the broker's consumers last delivered to, by the
// consumer's name.
type deliveries struct {
	lives map[faults.Instance]int
	last  map[string]life
}

func newDeliveries() deliveries {
	return deliveries{lives: map[faults.Instance]int{}, last: map[string]life{}}
}

func (d deliveries) observe(o wire.Observation) {
	if m := o.Event.Message; m != nil && m.Consumer != "" && o.What == properties.WirePush {
		d.last[m.Consumer] = life{o.Link.Instance, d.lives[o.Link.Instance]}
	}
}

// abandoned reports whether nobody will ever take what a consumer of the broker
// holds: it is not a durable one, nobody waits for it, it was of a process that has
// died, and the process that took its place has such a consumer of its own.
func (r *recorder) abandoned(c stack.Consumer, all []stack.Consumer) bool {
	if c.Durable || c.Attended {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.deliveries.last[c.Name]
	now := life{was.of, r.deliveries.lives[was.of]}
	if !known || was == now {
		return false
	}
	for _, other := range all {
		if !other.Durable && r.deliveries.last[other.Name] == now {
			return true
		}
	}
	return false
}
