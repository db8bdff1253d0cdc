package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// recoveryBound is the number of second faults that are tried after one broken
// publish.
const recoveryBound = 16

// recovery is the phase of the second faults. Its cells come from a trial with
// a fault, not from a recorded run, and the same recovery may not come again.
const recovery = "recovery"

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
// stands, the context's error when it was interrupted; the result then holds
// what was found until then. What the run leaves is under Options.Out. The options that choose servers are those of the session.
func (s *Session) Run(ctx context.Context, target targets.Target, o Options) (Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Result{}, err
	}
	target = target.WithDefaults()
	if err := target.Validate(); err != nil {
		return Result{}, &InputError{err.Error()}
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>1 | 1
	}
	begin := time.Now()
	jobs, err := s.jobs(ctx, target)
	if err != nil {
		return Result{}, err
	}
	r := &run{session: s, target: target, options: o, jobs: jobs, findings: newFindings()}
	if err := r.everything(ctx); err != nil {
		r.findings.lock(func() { r.findings.other = append(r.findings.other, "the run came to no end: "+err.Error()) })
		return r.result(time.Since(begin)), err
	}
	return r.result(time.Since(begin)), nil
}

// run is one run of one target.
type run struct {
	session  *Session
	target   targets.Target
	options  Options
	jobs     []*trial.Job
	findings *findings

	recordings []search.Recording
	baselines  map[string]*properties.Baseline // by workload
	earned     bool
	points     report.Points
	leftOut    map[string]int
	unreached  []report.Unreached
	explored   *report.Explored
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
		v, err := r.try(ctx, worker, runs[i].Scenario)
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

func (r *run) shape() search.Shape {
	return search.Shape{Target: r.target.Ref, Orders: r.options.Orders, Aborts: aborts(r.target), Overlaps: overlaps(r.target)}
}

// overlaps reports whether two instances of the app may run at once: not when
// each of them is a relay and only one of those may be.
func overlaps(t targets.Target) bool { return !t.Relay.InApp || t.Limits.Replicas != 1 }

// aborts reports whether the app can be asked to roll an order back: the
// harness's own app always can.
func aborts(t targets.Target) bool { return t.App.Abort || len(t.App.SQL) > 0 }

// sweep visits the cells of the recorded runs, and then strikes once more
// after a broken publish.
func (r *run) sweep(ctx context.Context) error {
	o := search.Options{Faults: r.options.Faults, Points: r.options.Points, Everything: r.options.everything}
	r.leftOut = map[string]int{}
	var cells []search.Cell
	for _, rec := range r.recordings {
		if !rec.Run.Swept {
			continue
		}
		some, left := search.Cells(rec, o)
		cells = append(cells, some...)
		for _, l := range left {
			r.leftOut[l.Reason] += l.Cells
		}
	}
	search.Likeliest(cells)
	if len(cells) == 0 {
		return &InputError{fmt.Sprintf("no cell of the recorded runs matches --faults %v --points %q", r.options.Faults, r.options.Points)}
	}
	r.points.Total += len(cells)
	var second []search.Cell
	breaks := map[string]bool{}
	if o.Points == "" {
		for _, c := range search.Publishes(cells) {
			breaks[c.String()] = true
		}
	}
	err := r.visitAll(ctx, "sweep", cells, func(c search.Cell, v visit) {
		if breaks[c.String()] && v.fired() && v.judgement.Verdict == properties.Pass {
			second = append(second, search.Recovery(search.Recording{Run: search.Run{Name: c.Run, Scenario: c.Scenario}, History: v.history}, recoveryBound)...)
		}
	})
	if err != nil || r.stopped() {
		return err
	}
	r.points.Total += len(second)
	return r.visitAll(ctx, recovery, second, func(search.Cell, visit) {})
}

// visitAll visits cells on all jobs.
func (r *run) visitAll(ctx context.Context, phase string, cells []search.Cell, after func(search.Cell, visit)) error {
	done := 0
	return search.Each(ctx, len(r.jobs), slices.Values(cells), func(ctx context.Context, worker int, c search.Cell) error {
		if r.findings.convicted(c.Scenario) {
			r.leave(search.ReasonConvicted, func() { done++ })
			return nil
		}
		v, err := r.tryUntilFired(ctx, worker, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		if phase == recovery && !v.fired() && v.judgement.Verdict != properties.Fail {
			r.leave(search.ReasonRecovery, func() {
				done++
				r.progress(phase, done, len(cells))
			})
			return nil
		}
		if err := r.take(ctx, worker, v, c.Run); err != nil {
			return err
		}
		r.findings.lock(func() {
			if v.fired() {
				r.points.Exercised++
			} else {
				r.points.Unreached++
				r.unreached = append(r.unreached, report.Unreached{Run: c.Run, Fault: c.Fault.String(), Why: v.whyUnfired()})
			}
			done++
			after(c, v)
			r.progress(phase, done, len(cells))
		})
		return r.stop()
	})
}

// leave takes a planned cell back, for a reason that the report tells.
func (r *run) leave(reason string, and func()) {
	r.findings.lock(func() {
		r.points.Total--
		r.leftOut[reason]++
		and()
	})
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
	const attempts = 3
	for i := 1; ; i++ {
		v, err := r.try(ctx, worker, c.Scenario)
		if err != nil {
			return v, err
		}
		decided := v.fired() && v.judgement.Verdict != properties.UnknownResult || v.judgement.Verdict == properties.Fail
		if decided || i == attempts {
			return v, nil
		}
		r.options.Log.Debug("trial repeated", "cell", c.String(), "verdict", v.judgement.Verdict, "why", v.reasons())
	}
}

func (r *run) progress(phase string, done, total int) {
	if r.options.Progress != nil {
		r.options.Progress(Progress{Phase: phase, Done: done, Total: total, Violations: r.findings.count()})
	}
}
