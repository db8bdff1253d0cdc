package properties

import (
	"fmt"
	"slices"
	"time"
)

// fault is what became of one planned fault.
type fault struct {
	index    int
	do, on   string
	text     string
	why      string // of not fired, or of a release that was not its point
	fired    *Event
	released *Event
	healed   *Event
	notFired *Event
}

func (ix *index) addFault(e *Event) {
	var f *fault
	for _, known := range ix.faults {
		if known.index == e.Fault.Index {
			f = known
		}
	}
	if f == nil {
		f = &fault{index: e.Fault.Index}
		ix.faults = append(ix.faults, f)
	}
	if e.Fault.Do != "" {
		f.do = e.Fault.Do
	}
	if e.Fault.Text != "" {
		f.text = e.Fault.Text
	}
	switch e.Fault.What {
	case "fired":
		f.fired, f.on = e, e.Fault.On
	case "released":
		f.released, f.why = e, e.Fault.Why
	case "healed":
		f.healed = e
	case "not fired":
		f.notFired, f.why = e, e.Fault.Why
	}
}

// unhealed says which fault still holds at the end, or nothing. A cut is over
// when it has been done; a kill is healed when its instance runs again.
func (ix *index) unhealed() string {
	for _, f := range ix.faults {
		if f.fired == nil || f.do == "cut" || after(f.healed, f.fired) {
			continue
		}
		if f.do == "hold" && after(f.released, f.fired) {
			continue
		}
		if f.do == "kill" && ix.startedAfter(InstanceOf(f.on), f.fired.Seq) {
			continue
		}
		return fmt.Sprintf("%s was never healed", f.text)
	}
	return ""
}

func after(e, other *Event) bool { return e != nil && other != nil && e.Seq > other.Seq }

func (ix *index) startedAfter(instance string, seq int) bool {
	return slices.ContainsFunc(ix.processes, func(e *Event) bool {
		return e.Seq > seq && e.Process.Instance == instance && started(e)
	})
}

func started(e *Event) bool { return e.Process.What == "started" || e.Process.What == "ready" }

// ended reports whether the process is gone with this event. A failed start
// leaves no process either.
func ended(e *Event) bool {
	switch e.Process.What {
	case "killed", "exited", "stopped", "failed to start":
		return true
	}
	return false
}

// disturbed returns the seq of the last fault, heal, or start of a process:
// what the wait for the outbox must come after.
func (ix *index) disturbed() int {
	last := 0
	for _, f := range ix.faults {
		for _, e := range []*Event{f.fired, f.released, f.healed} {
			if e != nil {
				last = max(last, e.Seq)
			}
		}
	}
	for _, e := range ix.processes {
		if started(e) {
			last = max(last, e.Seq)
		}
	}
	return last
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// inForce reports whether a fault struck the link at some time between the two
// events. A hang holds until it is healed, a cut until a connection carried
// something again.
func (ix *index) inForce(f *fault, from, to int) bool {
	if f.fired == nil || f.fired.Seq > to {
		return false
	}
	end := len(ix.h) + 1
	if f.healed != nil && f.healed.Seq > f.fired.Seq {
		end = f.healed.Seq
	}
	if f.do == "cut" {
		for _, x := range ix.exchanges {
			if x.conn.link == f.on && x.conn.first > f.fired.Seq {
				end = min(end, x.events[0].Seq)
			}
		}
	}
	return end > from
}

// at writes a time of the trial for people.
func at(e *Event) string {
	return fmt.Sprintf("%+.1fms", float64(e.At)/float64(time.Millisecond))
}
