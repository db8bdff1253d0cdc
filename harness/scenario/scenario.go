// Package scenario is the plain data of a scenario, a workload and its faults,
// and its file format: one small YAML file that reproduces a trial. See
// docs/scenario.md.
package scenario

import (
	"fmt"

	"github.com/outboxtest/outboxtest/faults"
)

// Version is the version of the file format.
const Version = 1

// Pace says when the relays may work.
type Pace string

// The paces.
const (
	// Stepwise drains the outbox between the steps of the workload.
	Stepwise Pace = "stepwise"
	// Batch runs the whole workload first and lets the relays go then.
	Batch Pace = "batch"
)

// Order is one order of the workload: a token that no other order has, and the
// customer it is for.
type Order struct {
	Order    string `yaml:"order"`
	Customer string `yaml:"customer,omitempty"`
}

// Step is one step of a workload; exactly one field is set.
type Step struct {
	// Place asks the app for an order.
	Place *Order `yaml:"place,omitempty"`
	// Abort asks the app for an order that the business rolls back.
	Abort *Order `yaml:"abort,omitempty"`
	// Overlap places two orders whose transactions overlap: the first begins
	// first and commits after the second's event had its chance to go out.
	Overlap []Order `yaml:"overlap,omitempty"`
}

// Scenario is a workload and its faults against one target.
type Scenario struct {
	// Target names a built-in or is a manifest's path, relative to the file.
	Target string
	// Pace is Stepwise when empty.
	Pace Pace
	// Replicas is the number of relays; 0 takes the manifest's.
	Replicas int
	Workload []Step
	Faults   []faults.Fault
	// Segments follow, each when all before it has drained.
	Segments []Segment
}

// Orders returns the tokens that the workloads place, and those they abort.
func (s Scenario) Orders() (placed, aborted []string) {
	for _, segment := range s.All() {
		p, a := segment.orders()
		placed, aborted = append(placed, p...), append(aborted, a...)
	}
	return placed, aborted
}

// Overlaps reports whether a step of a workload is an overlap.
func (s Scenario) Overlaps() bool {
	for _, segment := range s.All() {
		for _, step := range segment.Workload {
			if len(step.Overlap) > 0 {
				return true
			}
		}
	}
	return false
}

// Validate reports the first thing that is wrong with a workload or a fault.
func (s Scenario) Validate() error {
	if s.Replicas < 0 {
		return fmt.Errorf("replicas: %d is less than none", s.Replicas)
	}
	seen := map[string]bool{}
	for i, segment := range s.All() {
		err := segment.validate(seen)
		if err != nil && i > 0 {
			err = fmt.Errorf("segments: segment %d: %w", i, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s Step) orders() ([]Order, error) {
	set := 0
	var orders []Order
	if s.Place != nil {
		set, orders = set+1, append(orders, *s.Place)
	}
	if s.Abort != nil {
		set, orders = set+1, append(orders, *s.Abort)
	}
	if s.Overlap != nil {
		set, orders = set+1, append(orders, s.Overlap...)
		if len(s.Overlap) != 2 {
			return nil, fmt.Errorf("overlap has %d orders: it takes two, of which the first commits last", len(s.Overlap))
		}
	}
	if set != 1 {
		return nil, fmt.Errorf("want one of place, abort and overlap, found %d of them", set)
	}
	return orders, nil
}

// validToken keeps tokens to what needs no quoting in SQL, JSON, HTTP or a
// subject.
func validToken(s string) bool {
	if s == "" || len(s) > 40 {
		return false
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-') {
			return false
		}
	}
	return true
}
