package harness

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
)

// sweep visits the cells of the recorded runs, and then strikes a second time
// where the first fault left something to recover from.
func (r *run) sweep(ctx context.Context) error {
	all, err := r.plan()
	if err != nil {
		return err
	}
	if r.digest, err = planDigest(r.target, r.options); err != nil {
		return err
	}
	cells := r.share(all)
	seconds := newSeconds(r.firsts(all))
	w := &walk{run: r, phase: "sweep", total: len(cells), after: seconds.after}
	if err := w.visit(ctx, errands(cells, r.options.Chain, seconds.firsts)); err != nil || r.stopped() {
		return err
	}
	return r.recoveries(ctx, seconds.cells)
}

// plan derives the cells of the recorded runs, likeliest first, and begins the
// matrix with them and with those that the rules leave out.
func (r *run) plan() ([]search.Cell, error) {
	r.coverage = newCoverage()
	o := search.Options{Faults: r.options.Faults, Points: r.options.Points, Everything: r.options.everything}
	var cells []search.Cell
	for _, rec := range r.recordings {
		r.coverage.record(rec)
		some, left := search.Cells(rec, o)
		cells = append(cells, some...)
		for _, c := range some {
			r.coverage.plan(c)
		}
		for _, l := range left {
			r.coverage.leave(l.Run, l.Fault, l.Reason)
		}
	}
	search.Likeliest(cells)
	if len(cells) == 0 {
		return nil, &InputError{fmt.Sprintf("no cell of the recorded runs matches --faults %v --points %q", r.options.Faults, r.options.Points)}
	}
	return cells, nil
}

// share is this shard's part of the cells. The others are left to the others.
func (r *run) share(all []search.Cell) []search.Cell {
	if r.options.Shard.Of == 0 {
		return all
	}
	mine := search.Part(all, r.options.Shard.Index, r.options.Shard.Of)
	for _, c := range all {
		r.coverage.set(c, report.NotTried, report.ReasonShard)
	}
	for _, c := range mine {
		r.coverage.set(c, report.NotTried, "")
	}
	return mine
}

// status is what became of the cell that a trial visits, and why when that says
// too little.
func (v visit) status() (report.Status, string) {
	switch {
	case !v.fired():
		return report.NotReached, v.whyUnfired()
	case v.judgement.Verdict == properties.Fail:
		return report.Violated, ""
	case v.judgement.Verdict == properties.UnknownResult:
		return report.Exercised, cmp.Or(strings.Join(v.reasons(), "; "), "no reason was given")
	}
	return report.Exercised, ""
}

func (r *run) stop() error {
	if r.stopped() {
		return search.ErrStop
	}
	return nil
}

// tryUntilFired repeats a trial whose fault did not fire, or that came to no
// verdict, a bounded number of times. The last trial counts.
func (r *run) tryUntilFired(ctx context.Context, worker int, c search.Cell) (visit, error) {
	for i := 1; ; i++ {
		v, err := r.try(ctx, worker, c.Scenario)
		if err != nil {
			return v, err
		}
		decided := v.fired() && v.judgement.Verdict != properties.UnknownResult || v.judgement.Verdict == properties.Fail
		// A trial with trouble has been repeated.
		if decided || v.trouble != nil || i == tries {
			return v, nil
		}
		r.options.Log.Debug("trial repeated", "cell", c.String(), "verdict", v.judgement.Verdict, "why", v.reasons())
	}
}
