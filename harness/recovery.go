package harness

import (
	"context"

	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
)

// recoveryBound is the number of second faults that are tried after one first
// fault.
const recoveryBound = 16

// recovery is the phase of the second faults. Its cells come from a trial with
// a fault, not from a recorded run, and the same recovery may not come again.
const recovery = "recovery"

// The depths of a sweep.
const (
	// DepthPublish: single faults, and second ones after a broken publish.
	DepthPublish = 0
	// DepthSingle: single faults only.
	DepthSingle = 1
	// DepthPairs: single faults, and second ones after one fault of every kind.
	DepthPairs = 2
)

// firsts are the cells of the sweep whose recovery is struck once more.
func (r *run) firsts(cells []search.Cell) []search.Cell {
	switch {
	case r.options.Depth == DepthPairs:
		return search.Firsts(cells, 0)
	case r.options.Depth == DepthPublish && r.options.Points == "":
		return search.Publishes(cells)
	}
	return nil
}

// seconds collects the cells of second faults while the first ones are visited:
// which they are only the trial with the first fault shows.
type seconds struct {
	firsts map[string]bool
	cells  []search.Cell
}

func newSeconds(firsts []search.Cell) *seconds {
	s := &seconds{firsts: map[string]bool{}}
	for _, c := range firsts {
		s.firsts[c.String()] = true
	}
	return s
}

// after learns from the trial of a cell. What is violated already shows nothing
// by a second fault.
func (s *seconds) after(c search.Cell, v visit) {
	if s.firsts[c.String()] && v.fired() && v.judgement.Verdict == properties.Pass {
		rec := search.Recording{Run: search.Run{Name: c.Run, Scenario: c.Scenario}, History: v.history}
		s.cells = append(s.cells, search.Recovery(rec, recoveryBound)...)
	}
}

// recoveries visits the cells of second faults.
func (r *run) recoveries(ctx context.Context, cells []search.Cell) error {
	for _, c := range cells {
		r.coverage.plan(c)
	}
	search.Likeliest(cells)
	w := &walk{run: r, phase: recovery, total: len(cells), after: func(search.Cell, visit) {}}
	return w.visit(ctx, errands(cells, 1, nil))
}
