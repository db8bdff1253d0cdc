package trial

import (
	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/properties"
)

// notice keeps when an instance was disturbed. The recorder's lock is held.
func (r *recorder) notice(e properties.Event) {
	switch {
	case e.Process != nil && e.Process.What == "started":
		id, err := faults.ParseInstance(e.Process.Instance)
		if err != nil {
			return
		}
		if r.deliveries.lives[id]++; r.deliveries.lives[id] > 1 {
			r.disturbed[id] = r.clock()
			r.debts.struck(id)
		}
	case e.Fault != nil && e.Fault.On != "":
		if id, err := faults.ParseInstance(properties.InstanceOf(e.Fault.On)); err == nil {
			r.disturbed[id] = r.clock()
			if e.Fault.What == "fired" {
				r.debts.struck(id)
			}
		}
	}
}

// back reports whether the instance has polled or worked since it was last
// disturbed. Until then it may be about to publish again what it had published
// before: on a slow machine a process takes its time to start and to connect, and
// looks like one that has nothing to do.
func (r *recorder) back(id faults.Instance) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	disturbed, was := r.disturbed[id]
	return !was || r.turned[id].After(disturbed)
}

// relaysBack reports whether every relay has turned to its work again after what
// disturbed it.
func (t *trial) relaysBack() bool {
	for _, in := range t.order {
		if in.id.Role == t.relayRole() && !t.rec.back(in.id) {
			return false
		}
	}
	return true
}
