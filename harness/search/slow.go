package search

import (
	"cmp"
	"slices"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// slowMost bounds how many replies are made late, nearest to the violation first.
const slowMost = 4

// slowed proposes the scenario with a reply that is late. No hold keeps the order of
// a message and a timer: an instance on a busy machine gives up on a reply that was
// there, or is about to be. It shows as a transaction that was rolled back beside
// another exchange of the instance, and a hang at that exchange makes it give
// up every time.
func slowed(history []properties.Event, s scenario.Scenario, places []int) (list []scenario.Scenario) {
	all := steps(history)
	var waited []step
	for _, end := range all {
		if end.label != "rollback" {
			continue
		}
		var last *step
		for i := range all {
			x := &all[i]
			if x.link.Instance != end.link.Instance || x.link == end.link || x.push || x.done < 0 || x.done == x.sent || setup(x.label) {
				continue
			}
			// Sent in the transaction, or while it ended.
			if x.sent < max(end.sent, end.done) && x.sent > end.begun(all) {
				last = x
			}
		}
		if last != nil {
			waited = append(waited, *last)
		}
	}
	slices.SortStableFunc(waited, func(a, b step) int {
		return cmp.Compare(distance(places, a.sent), distance(places, b.sent))
	})
	for _, x := range waited[:min(len(waited), slowMost)] {
		at := x.point(faults.Unanswered, false)
		out := s
		out.Faults = nil
		for _, f := range s.Faults {
			// One that found nothing to strike had no part in it.
			if struck(history, f) {
				out.Faults = append(out.Faults, f)
			}
		}
		out.Faults = append(out.Faults, faults.Fault{At: &at, Do: faults.Hang})
		list = append(list, out)
	}
	return list
}

// begun is where the transaction began that the step ended.
func (x step) begun(all []step) (place int) {
	for _, y := range all {
		if y.conn == x.conn && y.sent < x.sent && y.label == "begin" {
			place = y.sent
		}
	}
	return place
}

// struck reports whether a fault of the trial fired.
func struck(history []properties.Event, f faults.Fault) bool {
	text := f.String()
	return slices.ContainsFunc(history, func(e properties.Event) bool {
		return e.Fault != nil && e.Fault.What == "fired" && e.Fault.Text == text
	})
}
