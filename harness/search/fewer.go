package search

import (
	"slices"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
)

// earlier lowers the occurrences of the points: of all faults to the first, and
// then of one fault to the first, to half, and by one.
func earlier(s scenario.Scenario) (list []scenario.Scenario) {
	if latest(s.Faults...) <= 1 {
		return nil
	}
	list = append(list, lowered(s, latest(s.Faults...)))
	for i, f := range s.Faults {
		n := latest(f)
		for _, by := range []int{n - 1, n / 2, 1} {
			if n > 1 {
				list = append(list, changed(s, i, lower(f, by)))
			}
		}
	}
	return list
}

// latest is the highest occurrence in the points of the faults; 0 without any.
func latest(list ...faults.Fault) int {
	n := 0
	for _, f := range list {
		moved(f, func(p faults.Point) faults.Point {
			n = max(n, p.N)
			return p
		})
	}
	return n
}

// lower lowers the occurrences of a fault's points, at most to the first.
func lower(f faults.Fault, by int) faults.Fault {
	return moved(f, func(p faults.Point) faults.Point {
		p.N = max(1, p.N-by)
		return p
	})
}

// lowered lowers the occurrences of all faults.
func lowered(s scenario.Scenario, by int) scenario.Scenario {
	s.Faults = slices.Clone(s.Faults)
	for i := range s.Faults {
		s.Faults[i] = lower(s.Faults[i], by)
	}
	return s
}

// fewerOrders leaves out a step of the workload, the last first, or one of two
// overlapping orders. The exchanges of that order exist no more, so every
// occurrence may now be an earlier one: as it was, by a few less, by the
// order's share, and the first are tried.
func fewerOrders(s scenario.Scenario) (list []scenario.Scenario) {
	placed, aborted := s.Orders()
	orders, most := len(placed)+len(aborted), latest(s.Faults...)
	bys := []int{0, 1, 2, 3, (most + orders - 1) / orders, most}
	for i := len(s.Workload) - 1; i >= 0; i-- {
		var fewer []scenario.Scenario
		if two := s.Workload[i].Overlap; len(two) == 2 {
			fewer = append(fewer, replaced(s, i, placing(two[0])), replaced(s, i, placing(two[1])))
		}
		if len(s.Workload) > 1 {
			fewer = append(fewer, replaced(s, i))
		}
		for _, f := range fewer {
			for _, by := range bys {
				list = append(list, lowered(f, by))
			}
		}
	}
	return list
}
