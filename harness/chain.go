package harness

import (
	"context"
	"slices"
	"sync"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
)

const (
	// chainLength is how many cells a chain visits if nothing else is asked for:
	// by then the making of the database and the starts of the processes cost
	// little for each.
	chainLength = 16
	// chainBreaks is how often a chain is begun again without the cell that broke
	// it, before the rest is visited one by one.
	chainBreaks = 2
	// kindBreaks is how often cells of one kind may break chains: some targets
	// need long to recover from some faults, and each such cell would cost a chain.
	kindBreaks = 2
)

// errand is what one job does at a time: one cell in a trial of its own, or
// cells of one run that share a trial as a chain.
type errand []search.Cell

// errands orders the work: first the cells that need a trial of their own, among
// them those named by alone, likeliest first, then the others in chains of at
// most so many. What a chain visits has been visited with the first order of a
// run, when everything was new.
func errands(cells []search.Cell, length int, alone map[string]bool) []errand {
	var single, chains []errand
	open := map[string]int{} // by run: the chain that takes more
	for _, c := range cells {
		if c.Segment == nil || length < 2 || alone[c.String()] {
			single = append(single, errand{c})
			continue
		}
		at, known := open[c.Run]
		if !known || len(chains[at]) == length {
			at = len(chains)
			open[c.Run] = at
			chains = append(chains, nil)
		}
		chains[at] = append(chains[at], c)
	}
	return append(single, chains...)
}

// chained is what a chain came to.
type chained struct {
	// visited are the cells that the chain has shown to be as they should.
	visited []search.Cell
	// rest are the cells to be visited in trials of their own.
	rest []search.Cell
	// failed is the trial of the chain when it showed a violation, and blamed the
	// cell of the rest that it points to, if to one. If that cell does not violate
	// the same by itself, the violation takes the chain.
	failed *visit
	blamed *search.Cell
	// suspect is the first chain that did not drain, up to where it stood. Nothing
	// is proven then: a chain does not wait for proof.
	suspect *scenario.Scenario
}

// visitChain visits cells in one trial. It passes for all of them or for none:
// where a segment does not drain, or the history is not a pass, the cell to
// blame is taken out and the others begin again.
func (r *run) visitChain(ctx context.Context, worker int, cells []search.Cell) (out chained, err error) {
	cells, out.rest = r.breaks.part(cells)
	for breaks := 0; len(cells) > 1 && breaks <= chainBreaks; breaks++ {
		links := search.Chain(cells)
		s := links.Scenario
		var of *properties.Baseline
		r.findings.lock(func() { of = r.baselines[workloadOf(cells[0].Scenario)] })
		r.baseOn(s, links.Baseline(of))
		v, err := r.try(ctx, worker, s)
		if err != nil {
			return out, err
		}
		if v.judgement.Verdict == properties.Pass && v.fired() && !v.violates() {
			out.visited = cells
			return out, nil
		}
		r.options.Log.Debug("chain broke", "segments", v.segments, "of", len(s.Segments), "verdict", v.judgement.Verdict, "why", v.whyUnfired(), "reasons", v.reasons())
		if v.violates() {
			// What comes next takes the logs away. If they cannot be kept, the violation
			// is told without.
			if v.logs, err = r.session.keepLogs(v.logs); err != nil {
				r.options.Log.Warn("the logs of a violation are lost", "error", err)
			}
			out.failed = &v
			if i, known := v.blamed(links.Cells); known {
				r.breaks.note(cells[i])
				out.blamed = &cells[i]
			}
			break
		}
		if v.trouble != nil {
			break
		}
		if out.suspect == nil && v.segments > 0 && v.segments <= len(s.Segments) {
			s.Segments = s.Segments[:v.segments]
			out.suspect = &s
		}
		blamed, known := v.blamed(links.Cells)
		if !known {
			break
		}
		r.breaks.note(cells[blamed])
		out.rest = append(out.rest, cells[blamed])
		cells = append(append([]search.Cell(nil), cells[:blamed]...), cells[blamed+1:]...)
	}
	out.rest = append(out.rest, cells...)
	return out, nil
}

// violates reports whether the trial violates any property, also one that the
// target does not claim.
func (v visit) violates() bool {
	return slices.ContainsFunc(v.judgement.Results, func(p properties.Result) bool { return len(p.Violations) > 0 })
}

// blamed is the cell that broke a chain: the one whose order is in a violation,
// or whose segment did not come to its end. Cells tells which cell each segment
// visits.
func (v visit) blamed(cells []int) (int, bool) {
	for _, p := range v.judgement.Results {
		for _, violation := range p.Violations {
			for i, s := range v.scenario.Segments {
				if slices.ContainsFunc(s.Workload, func(step scenario.Step) bool { return step.Has(violation.Order) }) {
					return lastCell(cells, i)
				}
			}
		}
	}
	// The first segment of the trial has no cell.
	return lastCell(cells, v.segments-1)
}

// lastCell is the cell of a segment, or of the last segment before it that has
// one: what breaks an order in peace was struck before.
func lastCell(cells []int, segment int) (int, bool) {
	for i := min(segment, len(cells)-1); i >= 0; i-- {
		if cells[i] >= 0 {
			return cells[i], true
		}
	}
	return 0, false
}

// chainName says where a violation was seen that takes a whole chain.
func chainName(cells []search.Cell) string { return cells[0].Run + ", in a chain" }

// breaks counts, by the fault and the role that it strikes, the chains that
// cells have broken. The zero value is ready, for all jobs together.
type breaks struct {
	mu    sync.Mutex
	by    map[string]int
	ended bool
}

func kindOfBreak(c search.Cell) string {
	return string(c.Fault.Do) + " " + c.Fault.At.Link.Role + " " + string(c.Fault.Then.Restart)
}

func (b *breaks) note(c search.Cell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by == nil {
		b.by = map[string]int{}
	}
	b.by[kindOfBreak(c)]++
}

// end lets nothing be chained any more.
func (b *breaks) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// part tells apart what a chain may visit and what is better visited alone.
func (b *breaks) part(cells []search.Cell) (chain, alone []search.Cell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range cells {
		if !b.ended && b.by[kindOfBreak(c)] < kindBreaks {
			chain = append(chain, c)
		} else {
			alone = append(alone, c)
		}
	}
	return chain, alone
}
