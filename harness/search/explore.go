package search

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
)

// Space is what random scenarios are drawn from: the exchanges that the
// recorded runs showed, and the time that they took.
type Space struct {
	shape    Shape
	replicas int // the largest number of relays that may run at once
	points   []spot
	last     time.Duration
	kinds    []faults.Kind
}

// spot is an exchange of the recorded runs, without its occurrence.
type spot struct {
	link    faults.Link
	label   string
	moments []faults.Moment
	most    int // the highest occurrence seen in a run
}

// NewSpace learns from recorded runs where a fault can strike. Replicas is the
// largest number of relays that a scenario may start; kinds are the faults.
func NewSpace(shape Shape, recordings []Recording, replicas int, kinds []faults.Kind) Space {
	if kinds == nil {
		kinds = []faults.Kind{faults.Kill, faults.Cut}
	}
	s := Space{shape: shape, replicas: max(1, replicas), kinds: kinds}
	index := map[string]int{}
	for _, rec := range recordings {
		for _, e := range rec.History {
			if e.Wire != nil {
				s.last = max(s.last, e.At)
			}
		}
		for _, x := range exchanges(rec.History) {
			// The second app of an overlap is not in every scenario.
			if x.link.Index > 0 || x.idle() && x.n > 1 {
				continue
			}
			key := fmt.Sprint(x.link, x.label, x.moments())
			i, known := index[key]
			if !known {
				i = len(s.points)
				index[key] = i
				s.points = append(s.points, spot{link: x.link, label: x.label, moments: x.moments()})
			}
			s.points[i].most = max(s.points[i].most, x.n)
		}
	}
	return s
}

// Empty reports whether there is nothing to draw from.
func (s Space) Empty() bool { return len(s.points) == 0 }

// Draw returns the i-th random scenario of a seed: always the same for the same
// space.
func (s Space) Draw(seed uint64, i int) scenario.Scenario {
	return s.scenarios().Example(int((seed + uint64(i)*0x9e3779b97f4a7c15) >> 1))
}

func (s Space) scenarios() *rapid.Generator[scenario.Scenario] {
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
		for range rapid.IntRange(1, 3).Draw(t, "faults") {
			out.Faults = append(out.Faults, s.fault(t, out))
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

// fault draws a fault that the scenario is likely to reach: an occurrence in
// proportion to its orders.
func (s Space) fault(t *rapid.T, of scenario.Scenario) faults.Fault {
	replicas := of.Replicas
	placed, _ := of.Orders()
	f := faults.Fault{Do: rapid.SampledFrom(s.kinds).Draw(t, "do")}
	at := rapid.SampledFrom(s.points).Draw(t, "exchange")
	if at.link.Role == "relay" && replicas > 1 {
		at.link.Index = faults.Any
	}
	if rapid.IntRange(0, 3).Draw(t, "trigger") == 0 {
		f.Clock = time.Duration(rapid.Int64Range(0, int64(s.last)).Draw(t, "clock")).Round(time.Microsecond)
		f.On = at.link
		if f.On.Index == faults.Any {
			f.On.Index = rapid.IntRange(0, replicas-1).Draw(t, "instance")
		}
		if f.Do == faults.Kill {
			f.On.Server = ""
		}
		return f
	}
	f.At = &faults.Point{
		Link: at.link, Label: at.label, N: rapid.IntRange(1, max(1, at.most*len(placed)/s.shape.Orders)).Draw(t, "occurrence"),
		Moment: rapid.SampledFrom(at.moments).Draw(t, "moment"),
	}
	if f.Do == faults.Kill {
		f.Then.Restart = rapid.SampledFrom([]faults.Restart{"", faults.BackendsGone, faults.BackendsLinger}).Draw(t, "restart")
	}
	return f
}
