package search

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
)

// scenarios generates whole scenarios. With an aim the first fault is at it.
func (s Space) scenarios(first *aim) *rapid.Generator[scenario.Scenario] {
	return rapid.Custom(func(t *rapid.T) scenario.Scenario {
		out := scenario.Scenario{Target: s.shape.Target, Replicas: rapid.IntRange(1, s.replicas).Draw(t, "replicas")}
		if rapid.Bool().Draw(t, "batch") {
			out.Pace = scenario.Batch
		}
		steps := rapid.IntRange(1, 4).Draw(t, "steps")
		next := 1
		for range steps {
			out.Workload = append(out.Workload, s.step(t, &next))
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "faults") {
			if i == 0 && first != nil {
				out.Faults = append(out.Faults, s.at(t, s.points[first.spot], first.moment, first.do, out))
			} else {
				out.Faults = append(out.Faults, s.fault(t, out))
			}
		}
		return out
	})
}

func (s Space) step(t *rapid.T, next *int) scenario.Step {
	fresh := func() scenario.Order {
		o := scenario.Order{Order: fmt.Sprintf("o%d", *next), Customer: fmt.Sprintf("c%d", rapid.IntRange(1, 2).Draw(t, "customer"))}
		*next++
		return o
	}
	switch rapid.IntRange(0, 5).Draw(t, "step") {
	case 0:
		if s.shape.Aborts {
			o := fresh()
			return scenario.Step{Abort: &o}
		}
	case 1:
		if s.shape.Overlaps {
			return scenario.Step{Overlap: []scenario.Order{fresh(), fresh()}}
		}
	}
	o := fresh()
	return scenario.Step{Place: &o}
}

// fault draws a fault at any exchange or time.
func (s Space) fault(t *rapid.T, of scenario.Scenario) faults.Fault {
	do := rapid.SampledFrom(s.kinds).Draw(t, "do")
	at := rapid.SampledFrom(s.points).Draw(t, "exchange")
	if rapid.IntRange(0, 3).Draw(t, "trigger") > 0 {
		return s.at(t, at, rapid.SampledFrom(at.moments).Draw(t, "moment"), do, of)
	}
	f := faults.Fault{Do: do, On: at.link}
	f.Clock = time.Duration(rapid.Int64Range(0, int64(s.last)).Draw(t, "clock")).Round(time.Microsecond)
	if at.link.Role == "relay" {
		f.On.Index = rapid.IntRange(0, of.Replicas-1).Draw(t, "instance")
	}
	if f.Do == faults.Kill {
		f.On.Server = ""
	}
	return f
}

// at draws a fault at a moment of an exchange that the scenario is likely to
// reach: an occurrence in proportion to its orders.
func (s Space) at(t *rapid.T, at spot, m faults.Moment, do faults.Kind, of scenario.Scenario) faults.Fault {
	placed, _ := of.Orders()
	p := faults.Point{Link: at.link, Label: at.label, N: rapid.IntRange(1, max(1, at.per*len(placed))).Draw(t, "occurrence"), Moment: m}
	if at.link.Role == "relay" && of.Replicas > 1 {
		p.Link.Index = faults.Any
	}
	f := faults.Fault{At: &p, Do: do}
	if do == faults.Kill {
		f.Then.Restart = rapid.SampledFrom([]faults.Restart{"", faults.BackendsGone, faults.BackendsLinger}).Draw(t, "restart")
	}
	return f
}
