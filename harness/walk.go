package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
)

// walk visits the cells of one phase.
type walk struct {
	run   *run
	phase string
	total int
	// after is called for each cell that was visited in a trial of its own, under
	// the findings' lock.
	after func(search.Cell, visit)
	done  int // under the findings' lock
}

// visit does the errands on all jobs.
func (w *walk) visit(ctx context.Context, list []errand) error {
	return search.Each(ctx, len(w.run.jobs), slices.Values(list), func(ctx context.Context, worker int, e errand) error {
		e = w.pending(e)
		if len(e) == 0 {
			return nil
		}
		if len(e) > 1 {
			return w.chain(ctx, worker, e)
		}
		_, err := w.alone(ctx, worker, e[0])
		return err
	})
}

// pending are the cells of an errand that are still worth a trial.
func (w *walk) pending(e errand) (list errand) {
	for _, c := range e {
		switch {
		case w.run.budget.spent():
			w.tell(c, report.NotTried, report.ReasonBudget, nil)
		case w.run.findings.convicted(c.Scenario):
			w.tell(c, report.NotApplicable, search.ReasonConvicted, nil)
		default:
			list = append(list, c)
		}
	}
	return list
}

// tell records what became of a cell.
func (w *walk) tell(c search.Cell, s report.Status, reason string, also func()) {
	r := w.run
	r.findings.lock(func() {
		r.coverage.set(c, s, reason)
		w.done++
		if also != nil {
			also()
		}
		r.progress(w.phase, w.done, w.total)
	})
}

// alone visits a cell in a trial of its own.
func (w *walk) alone(ctx context.Context, worker int, c search.Cell) (visit, error) {
	r := w.run
	v, err := r.tryUntilFired(ctx, worker, c)
	if err != nil {
		return v, fmt.Errorf("%s: %w", c, err)
	}
	if w.phase == recovery && !v.fired() && v.judgement.Verdict != properties.Fail {
		w.tell(c, report.NotApplicable, search.ReasonRecovery, nil)
		return v, nil
	}
	if !v.fired() && v.judgement.Verdict != properties.Fail {
		chance, err := r.byChance(ctx, worker, c)
		if err != nil {
			return v, err
		}
		if chance {
			w.tell(c, report.NotApplicable, search.ReasonSchedule, nil)
			return v, nil
		}
	}
	if err := r.take(ctx, worker, v, c.Run); err != nil {
		return v, err
	}
	s, reason := v.status()
	w.tell(c, s, reason, func() { w.after(c, v) })
	return v, r.stop()
}

// chain visits cells in one trial, and those that it could not in trials of
// their own. A violation that only the chain shows is one of the chain.
func (w *walk) chain(ctx context.Context, worker int, cells []search.Cell) error {
	r := w.run
	out, err := r.visitChain(ctx, worker, cells)
	if err != nil {
		return fmt.Errorf("%s: %w", chainName(cells), err)
	}
	for _, c := range out.visited {
		w.tell(c, report.Exercised, "", nil)
	}
	r.findings.lock(func() { r.findings.trials += max(0, len(out.visited)-1) })
	alone := false
	for _, c := range out.rest {
		if len(w.pending(errand{c})) == 0 {
			continue
		}
		v, err := w.alone(ctx, worker, c)
		if err != nil {
			return err
		}
		alone = alone || v.judgement.Verdict == properties.Fail
	}
	known := slices.ContainsFunc(cells, func(c search.Cell) bool { return r.findings.convicted(c.Scenario) })
	if alone || known || r.budget.spent() {
		return r.stop()
	}
	if out.failed == nil && out.suspect != nil {
		// Its cells are as they should be, each by itself. What kept the chain from
		// draining may be the chain, which ends here with the proof.
		v, err := r.try(ctx, worker, *out.suspect)
		if err != nil {
			return fmt.Errorf("%s: %w", chainName(cells), err)
		}
		if v.judgement.Verdict == properties.Fail {
			out.failed = &v
		}
	}
	if out.failed == nil {
		return r.stop()
	}
	if err := r.take(ctx, worker, *out.failed, chainName(cells)); err != nil {
		return err
	}
	return r.stop()
}
