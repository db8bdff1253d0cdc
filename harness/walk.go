package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
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
	return search.Each(ctx, len(w.run.jobs), slices.Values(list), w.errand)
}

// errand does one, as far as it is still worth a trial.
func (w *walk) errand(ctx context.Context, worker int, e errand) error {
	e = w.pending(e)
	if len(e) > 1 {
		return w.chain(ctx, worker, e)
	}
	for _, c := range e {
		if _, err := w.alone(ctx, worker, c); err != nil {
			return err
		}
	}
	return nil
}

// pending are the cells of an errand that are still worth a trial.
func (w *walk) pending(e errand) (list errand) {
	for _, c := range e {
		switch {
		case w.run.budget.spent():
			w.tell(c, report.NotTried, report.ReasonBudget, nil)
		case w.run.options.StopAtFirst && w.run.findings.ended(nil):
			// The run ends as soon as that violation is shrunk.
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
	if v.trouble != nil {
		w.tell(c, report.NotReached, v.whyUnfired(), func() { r.findings.undecided++ })
		return v, nil
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
	if out.failed != nil {
		return w.failed(ctx, worker, cells, out)
	}
	clean, err := w.each(ctx, worker, out.rest)
	if err != nil || !clean || out.suspect == nil {
		return err
	}
	return w.prove(ctx, worker, cells, *out.suspect)
}

// each visits cells in trials of their own, and reports whether no trial showed a
// violation.
func (w *walk) each(ctx context.Context, worker int, cells []search.Cell) (clean bool, err error) {
	clean = true
	for _, c := range cells {
		if len(w.pending(errand{c})) == 0 {
			continue
		}
		v, err := w.alone(ctx, worker, c)
		clean = clean && !v.violates()
		if err != nil {
			return clean, err
		}
	}
	return clean, nil
}

// failed looks for the violation of a chain at the cell that it points to, and
// takes the chain for it where that cell does not show it, or cannot be asked: at
// the end of the time, or of the run. A violation that was seen is not let go.
func (w *walk) failed(ctx context.Context, worker int, cells []search.Cell, out chained) error {
	r := w.run
	rest := out.rest
	explained := false
	var broken error
	if out.blamed != nil && !r.budget.spent() {
		blamed := *out.blamed
		rest = slices.DeleteFunc(slices.Clone(rest), func(c search.Cell) bool { return c.String() == blamed.String() })
		var v visit
		v, broken = w.alone(ctx, worker, blamed)
		explained = v.explains(*out.failed)
	}
	if !explained {
		// Its cells in other chains would show it again, each time as new.
		r.breaks.end()
		if err := r.take(ctx, worker, *out.failed, chainName(cells)); err != nil {
			return errors.Join(broken, err)
		}
	}
	if broken != nil {
		return broken
	}
	if err := r.stop(); err != nil {
		return err
	}
	if explained {
		return w.errand(ctx, worker, rest)
	}
	_, err := w.each(ctx, worker, rest)
	return err
}

// explains reports whether the trial violates all that another one does.
func (v visit) explains(other visit) bool {
	for _, p := range other.judgement.Results {
		if len(p.Violations) > 0 && !violates(v.judgement, p.Property) {
			return false
		}
	}
	return true
}

// prove executes a chain that did not drain up to where it stood, with all the
// time that a proof takes. Its cells are as they should be, each by itself.
func (w *walk) prove(ctx context.Context, worker int, cells []search.Cell, suspect scenario.Scenario) error {
	r := w.run
	if r.budget.spent() {
		r.findings.lock(func() {
			r.findings.other.add(chainName(cells), "a chain did not drain, each of its cells does by itself, and the budget left no time to find out why")
		})
		return nil
	}
	v, err := r.try(ctx, worker, suspect)
	if err != nil {
		return fmt.Errorf("%s: %w", chainName(cells), err)
	}
	if v.violates() || v.trouble != nil || v.misbehaved {
		if err := r.take(ctx, worker, v, chainName(cells)); err != nil {
			return err
		}
	}
	return r.stop()
}
