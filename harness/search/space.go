package search

import (
	"fmt"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// Space is what random scenarios are drawn from: the exchanges that the
// recorded runs showed, and the time that they took.
type Space struct {
	shape    Shape
	replicas int // the largest number of relays that may run at once
	points   []spot
	last     time.Duration // since the workload began
	kinds    []faults.Kind
	all      []aim // every kind of point, moment and fault that may be drawn
	fresh    []aim // those of them that were not visited
	plain    plain
}

// spot is an exchange of the recorded runs, without its occurrence.
type spot struct {
	link    faults.Link
	label   string
	moments []faults.Moment
	// per is the most occurrences for each order that a run placed, rounded up.
	per int
}

// NewSpace learns from recorded runs where a fault can strike. Replicas is the
// largest number of relays that a scenario may start; kinds are the faults, of
// which hold is left out: what it waits for cannot be drawn. Nil means kill and
// cut.
func NewSpace(shape Shape, recordings []Recording, replicas int, kinds []faults.Kind) Space {
	if kinds == nil {
		kinds = DefaultFaults()
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k faults.Kind) bool { return k == faults.Hold })
	s := Space{shape: shape, replicas: max(1, replicas), kinds: kinds}
	index := map[string]int{}
	for _, rec := range recordings {
		begin := workloadBegin(rec.History)
		placed, _ := rec.Run.Scenario.Orders()
		orders := max(1, len(placed))
		for _, e := range rec.History {
			if e.Wire != nil {
				s.last = max(s.last, e.At-begin)
			}
		}
		for _, x := range exchanges(rec.History) {
			occurrence := x.n
			if x.link.Role == "relay" {
				// A scenario with several relays names whichever comes first.
				x.link.Index, occurrence = 0, x.among
			}
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
			s.points[i].per = max(s.points[i].per, (occurrence+orders-1)/orders)
		}
	}
	s.all = s.aims()
	s.fresh = s.all
	s.plain = newPlain(recordings)
	return s
}

// workloadBegin is the time at which the first order was asked for: the clock
// of the faults starts then.
func workloadBegin(history []properties.Event) time.Duration {
	for _, e := range history {
		if e.Kind == properties.KindCall {
			return e.At
		}
	}
	return 0
}

// Empty reports whether there is nothing to draw from.
func (s Space) Empty() bool { return len(s.points) == 0 || len(s.kinds) == 0 }

// Draw returns the i-th random scenario of a seed: always the same for the same
// space. Three of four draws aim their first fault, see [Space.Visited].
func (s Space) Draw(seed uint64, i int) scenario.Scenario {
	return s.scenarios(s.aimOf(seed, i)).Example(int((seed + uint64(i)*0x9e3779b97f4a7c15) >> 1))
}
