package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// Run tests one target in a session of its own. See [Session.Run].
func Run(ctx context.Context, target targets.Target, o Options) (Result, error) {
	s, err := Open(ctx, o)
	if err != nil {
		return Result{}, err
	}
	result, err := s.Run(ctx, target, o)
	return result, errors.Join(err, s.Close())
}

// Run records the fault-free runs of a target, visits the cells that they show,
// and explores if asked. The result's verdict is the run's; an error says that
// there is none: a *[trial.TargetError] when the target cannot be tested as it
// stands, the context's error when it was interrupted, another one when the
// servers or the machine no longer carry a trial out. The result then holds
// what was found until then, and its verdict is fail or unknown. What the run
// leaves is under Options.Out. The options that choose servers are those of the
// session.
func (s *Session) Run(ctx context.Context, target targets.Target, o Options) (Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Result{}, err
	}
	target = target.WithDefaults()
	if err := target.Validate(); err != nil {
		return Result{}, &InputError{err.Error()}
	}
	o = o.withSeed()
	begin := time.Now()
	if err := s.build(ctx, target, o.Progress); err != nil {
		return Result{}, err
	}
	jobs, err := s.jobs(ctx, target)
	if err != nil {
		return Result{}, err
	}
	r := &run{session: s, target: target, options: o, jobs: jobs, findings: newFindings(), begin: begin, budget: newBudget(o.Budget, begin)}
	return r.whole(ctx)
}

// whole does everything and sums up, also what was found before an error.
func (r *run) whole(ctx context.Context) (Result, error) {
	err := r.everything(ctx)
	if err != nil {
		r.interrupted = true
		r.findings.lock(func() { r.findings.other.add("", "the run came to no end: "+err.Error()) })
	}
	return r.result(time.Since(r.begin)), err
}

// run is one run of one target.
type run struct {
	session  *Session
	target   targets.Target
	options  Options
	jobs     []executor
	findings *findings

	begin       time.Time
	budget      budget
	recordings  []search.Recording
	baselines   map[string]*properties.Baseline // by workload
	earned      bool
	coverage    *coverage // nil until the cells are known
	breaks      breaks
	calms       calms
	digest      string
	interrupted bool
	explored    *report.Explored
}

func (r *run) everything(ctx context.Context) error {
	if err := r.record(ctx); err != nil || r.stopped() {
		return err
	}
	// A target that fails without any fault, or whose ledgers show nothing,
	// has nothing to be learnt from faults.
	if !r.earned {
		return nil
	}
	if !r.options.SkipSweep {
		if r.budget.spent() {
			r.findings.other.add("", r.budget.spentOnRecording(time.Since(r.begin)))
		}
		if err := r.sweep(ctx); err != nil || r.stopped() {
			return err
		}
	}
	if r.options.Explore > 0 || r.options.ExploreTrials > 0 {
		return r.explore(ctx)
	}
	return nil
}

func (r *run) stopped() bool { return r.options.StopAtFirst && r.findings.confirmed() }

// record executes the fault-free runs.
func (r *run) record(ctx context.Context) error {
	runs := search.Runs(r.shape())
	r.recordings = make([]search.Recording, len(runs))
	r.earned = true
	done := 0
	err := search.Each(ctx, len(r.jobs), upTo(len(runs)), func(ctx context.Context, worker, i int) error {
		v, err := r.tryCalm(ctx, worker, runs[i].Scenario)
		if err != nil {
			return fmt.Errorf("the fault-free %s run: %w", runs[i].Name, err)
		}
		r.learn(v)
		r.recordings[i] = search.Recording{Run: runs[i], History: v.history}
		if err := r.take(ctx, worker, v, runs[i].Name); err != nil {
			return err
		}
		r.findings.lock(func() {
			if v.judgement.Verdict != properties.Pass {
				r.earned = false
			}
			done++
			r.progress("recording", done, len(runs))
		})
		return r.stop()
	})
	return err
}

// tryCalm executes a fault-free run, and once more when it comes to no verdict: a
// target's own deadlines may have run out on a machine that was busy for a moment,
// and one such moment shall not cost the whole run.
func (r *run) tryCalm(ctx context.Context, worker int, s scenario.Scenario) (visit, error) {
	v, err := r.try(ctx, worker, s)
	if err != nil || v.judgement.Verdict != properties.UnknownResult {
		return v, err
	}
	r.options.Log.Debug("fault-free run repeated", "why", v.reasons())
	return r.try(ctx, worker, s)
}

func (r *run) shape() search.Shape { return shapeOf(r.target, r.options) }

func shapeOf(t targets.Target, o Options) search.Shape {
	return search.Shape{Target: t.Ref, Orders: o.Orders, Aborts: aborts(t), Overlaps: overlaps(t), Relays: t.Relays(0)}
}

// overlaps reports whether two instances of the app may run at once: not when
// each of them is a relay and only one of those may be.
func overlaps(t targets.Target) bool { return !t.Relay.InApp || t.Limits.Replicas != 1 }

// aborts reports whether the app can be asked to roll an order back: the
// harness's own app always can.
func aborts(t targets.Target) bool {
	return t.App.Abort || len(t.App.AbortBy) > 0 || len(t.App.SQL) > 0
}

func (r *run) progress(phase string, done, total int) {
	if r.options.Progress != nil {
		r.options.Progress(Progress{Phase: phase, Done: done, Total: total, Violations: r.findings.count(), Undecided: r.findings.undecided})
	}
}
