package scenario

import (
	"fmt"

	"github.com/outboxtest/outboxtest/faults"
)

// Segment is a part of a scenario that begins when the part before it has
// drained, on the same database and stream and with the same processes. The
// occurrences in its faults' points are counted from its beginning.
type Segment struct {
	// Pace is Stepwise when empty. The relays of a Batch segment are killed
	// before it, when they have nothing to do, and started after its workload.
	Pace     Pace
	Workload []Step
	Faults   []faults.Fault
}

// All returns the scenario's segments: its own workload and faults, and what
// follows.
func (s Scenario) All() []Segment {
	return append([]Segment{{Pace: s.Pace, Workload: s.Workload, Faults: s.Faults}}, s.Segments...)
}

// AllFaults returns the faults of all segments, in their order.
func (s Scenario) AllFaults() []faults.Fault {
	list := s.Faults
	for _, segment := range s.Segments {
		list = append(list[:len(list):len(list)], segment.Faults...)
	}
	return list
}

// Calm returns the scenario without its faults.
func (s Scenario) Calm() Scenario {
	s.Faults = nil
	segments := s.Segments
	s.Segments = nil
	for _, segment := range segments {
		segment.Faults = nil
		s.Segments = append(s.Segments, segment)
	}
	return s
}

// Has reports whether the step is about the order.
func (s Step) Has(order string) bool {
	if order == "" {
		return false
	}
	for _, o := range append([]*Order{s.Place, s.Abort}, pointers(s.Overlap)...) {
		if o != nil && o.Order == order {
			return true
		}
	}
	return false
}

func pointers(list []Order) (all []*Order) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// orders returns the tokens that the segment places, and those it aborts.
func (s Segment) orders() (placed, aborted []string) {
	for _, step := range s.Workload {
		switch {
		case step.Place != nil:
			placed = append(placed, step.Place.Order)
		case step.Abort != nil:
			aborted = append(aborted, step.Abort.Order)
		default:
			for _, o := range step.Overlap {
				placed = append(placed, o.Order)
			}
		}
	}
	return placed, aborted
}

// validate reports the first thing that is wrong with the segment. Seen are the
// tokens of the segments before it, and takes its own.
func (s Segment) validate(seen map[string]bool) error {
	switch s.Pace {
	case "", Stepwise, Batch:
	default:
		return fmt.Errorf("pace: %q is not a pace: use stepwise or batch", s.Pace)
	}
	if len(s.Workload) == 0 {
		return fmt.Errorf("workload: is empty: a scenario places at least one order")
	}
	for i, step := range s.Workload {
		orders, err := step.orders()
		if err != nil {
			return fmt.Errorf("workload: step %d: %w", i+1, err)
		}
		for _, o := range orders {
			if !validToken(o.Order) || o.Customer != "" && !validToken(o.Customer) {
				return fmt.Errorf("workload: step %d: order %q, customer %q: a token is 1 to 40 letters, digits and dashes", i+1, o.Order, o.Customer)
			}
			if seen[o.Order] {
				return fmt.Errorf("workload: step %d: order %s is placed twice: every order has a token of its own", i+1, o.Order)
			}
			seen[o.Order] = true
		}
	}
	for i, f := range s.Faults {
		if err := f.Validate(); err != nil {
			return fmt.Errorf("faults: fault %d: %w", i+1, err)
		}
	}
	return nil
}
