package search

import (
	"fmt"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// Run is a fault-free workload whose exchanges are recorded.
type Run struct {
	Name     string
	Scenario scenario.Scenario
}

// Shape says what the fault-free runs of a target are made of.
type Shape struct {
	// Target is how scenario files name the target.
	Target string
	// Orders is the number of orders that a run places.
	Orders int
	// Aborts: the app can be asked for an order that it rolls back.
	Aborts bool
	// Overlaps: two instances of the app may run at once.
	Overlaps bool
	// Relays is the number of relays that the manifest asks for.
	Relays int
}

// The names of the fault-free runs.
const (
	RunStepwise = "stepwise"
	RunReplicas = "replicas"
	RunBatch    = "batch"
	RunOverlap  = "overlap"
)

// Runs are the fault-free runs of a target, with one aborted order if the app can
// be asked for it: stepwise with one relay, and with as many as the manifest asks
// for; batch; and, if two apps may run at once, one whose transactions overlap.
func Runs(s Shape) []Run {
	var one int // the manifest's own number
	if s.Relays > 1 {
		one = 1
	}
	runs := []Run{{RunStepwise, scenario.Scenario{Target: s.Target, Replicas: one, Workload: workload(s)}}}
	if s.Relays > 1 {
		runs = append(runs, Run{RunReplicas, scenario.Scenario{Target: s.Target, Workload: workload(s)}})
	}
	runs = append(runs, Run{RunBatch, scenario.Scenario{Target: s.Target, Pace: scenario.Batch, Workload: workload(s)}})
	if s.Overlaps {
		runs = append(runs, Run{RunOverlap, scenario.Scenario{Target: s.Target, Workload: []scenario.Step{
			place(1),
			{Overlap: []scenario.Order{order(2), order(3)}},
		}}})
	}
	return runs
}

// workload places orders, the first two for one customer, and aborts one after
// the first.
func workload(s Shape) []scenario.Step {
	var steps []scenario.Step
	for i := 1; i <= s.Orders; i++ {
		steps = append(steps, place(i))
		if i == 1 && s.Aborts {
			steps = append(steps, scenario.Step{Abort: &scenario.Order{Order: "x1", Customer: "c1"}})
		}
	}
	return steps
}

func place(i int) scenario.Step {
	o := order(i)
	return scenario.Step{Place: &o}
}

func order(i int) scenario.Order {
	return scenario.Order{Order: fmt.Sprintf("o%d", i), Customer: fmt.Sprintf("c%d", (i+1)/2)}
}

// Recording is a run and what was observed in it.
type Recording struct {
	Run     Run
	History []properties.Event
}
