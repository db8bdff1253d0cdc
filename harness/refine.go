package harness

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
)

const (
	// holdReplays is how often a scenario with holds must fail, one time after
	// another, before it is looked at more closely.
	holdReplays = 3
	// holdProof is how often it must, those included, before it stands for a
	// schedule: a race that comes two times in three by itself fails three times
	// of three in every third try, and ten times of ten in one of sixty.
	holdProof = 10
	// holdProposals is how many scenarios with holds are tried for a violation of a
	// property that another one shows every time.
	holdProposals = 6
	// holdTime bounds the search for a schedule. No proposal is begun after it.
	holdTime = 30 * time.Second
)

// refine looks for a scenario that shows a violation better than the one that
// was found: one that fails every time, if that one does not, and the smallest.
// What it finds takes the place of what was written down.
func (r *run) refine(ctx context.Context, worker int, x *finding, v visit) error {
	steady := false
	r.findings.lock(func() { steady = x.always() })
	if why := r.inVain(x); why != "" {
		if !steady || r.newShrinker(worker, x.property, v) != nil || r.leftAsRecorded(v) {
			r.findings.lock(func() { x.violation.Unshrunk = why })
		}
		return nil
	}
	if steady && v.random {
		proven, err := r.prove(ctx, worker, x, v.scenario)
		if err != nil {
			return err
		}
		steady = proven
	}
	from := size(v.scenario)
	// A time on the clock strikes elsewhere every time. If no proposal has a point
	// in its place that brings the violation back, shrinking looks for one.
	timed := slices.ContainsFunc(v.scenario.AllFaults(), func(f faults.Fault) bool { return f.At == nil })
	if !steady {
		held, found, err := r.hold(ctx, worker, x, v)
		if err != nil {
			return err
		}
		if found {
			v, steady = held, true
		}
	}
	if !steady && !timed {
		return nil
	}
	return r.shrink(ctx, worker, x, v, from)
}

// prove replays a random scenario that failed every time until it has failed as
// often as one with holds must: its faults are at moments that nobody chose, so it
// may well be a race that came by luck. It is not done where a number of replays
// was asked for, nor where the run ends at what it finds.
func (r *run) prove(ctx context.Context, worker int, x *finding, s scenario.Scenario) (proven bool, err error) {
	runs := 0
	r.findings.lock(func() { runs = x.violation.Reproduced.Runs })
	more := holdProof - runs
	if r.options.Replays > 0 || r.options.StopAtFirst || more <= 0 {
		return true, nil
	}
	v, failed, err := r.replay(ctx, worker, s, x.property, more)
	if err != nil {
		return false, err
	}
	// A trial that the harness could not carry out says nothing about the violation.
	passed := failed < more && v.trouble == nil
	r.findings.lock(func() {
		x.violation.Reproduced.Runs += failed
		x.violation.Reproduced.Failed += failed
		if passed {
			x.violation.Reproduced.Runs++
		}
	})
	return !passed, nil
}

// inVain says why nothing would be gained: the run ends at another violation, or
// its time is spent; empty where something would.
func (r *run) inVain(x *finding) string {
	switch {
	case r.budget.spent():
		return report.ReasonBudget
	case r.options.StopAtFirst && r.findings.ended(x):
		return report.ReasonStopped
	}
	return ""
}

// leftAsRecorded reports whether a run that stops at the first violation leaves
// one without any fault as the recorded run, though that has orders to spare.
func (r *run) leftAsRecorded(v visit) bool {
	n := size(v.scenario)
	return r.options.StopAtFirst && !v.random && len(v.scenario.Segments) == 0 && n.Faults == 0 && n.Orders > fewOrders
}

// hold looks for the order of exchanges that a failing trial's violation takes,
// and writes down the first that brings it back every time.
func (r *run) hold(ctx context.Context, worker int, x *finding, v visit) (held visit, found bool, err error) {
	out := &report.Holds{}
	end := time.Now().Add(holdTime)
	proposals := search.Holds(v.history, v.scenario)
	if r.shown(x.property) {
		proposals = proposals[:min(len(proposals), holdProposals)]
	}
	for _, s := range proposals {
		if time.Now().After(end) || r.inVain(x) != "" {
			break
		}
		out.Tried++
		again, failed, err := r.replay(ctx, worker, s, x.property, holdProof)
		if err != nil {
			return held, false, err
		}
		if failed == holdProof {
			out.Found = true
			again.random = v.random
			if err := r.replace(x, again, holdProof); err != nil {
				return held, false, err
			}
			held = again
			break
		}
	}
	r.findings.lock(func() {
		if out.Tried > 0 {
			x.violation.Holds = out
		}
	})
	return held, out.Found, nil
}

// shown reports whether a violation of the property comes back every time.
func (r *run) shown(property string) (shown bool) {
	r.findings.lock(func() {
		shown = slices.ContainsFunc(r.findings.list, func(x *finding) bool { return x.property == property && x.always() })
	})
	return shown
}

// shrink looks for a smaller scenario and writes it down if it fails every time.
func (r *run) shrink(ctx context.Context, worker int, x *finding, v visit, from report.Size) error {
	k := r.newShrinker(worker, x.property, v)
	if k == nil {
		if r.leftAsRecorded(v) {
			r.findings.lock(func() { x.violation.Unshrunk = report.ReasonStopped })
		}
		return nil
	}
	smallest, complete, err := k.shrink(ctx, v, x.violation.Order)
	if err != nil {
		return err
	}
	changed := !reflect.DeepEqual(smallest, v.scenario)
	if changed {
		// It failed several times while it was shrunk to.
		more := max(1, x.violation.Reproduced.Runs-k.timesFailed(smallest))
		again, failed, err := r.replay(ctx, worker, smallest, x.property, more)
		if err != nil {
			return err
		}
		if changed = failed == more; changed {
			if err := r.replace(x, again, k.timesFailed(smallest)+more); err != nil {
				return err
			}
		} else {
			complete = false
		}
	}
	if changed || !complete {
		to := size(smallest)
		if !changed {
			to = size(v.scenario)
		}
		r.findings.lock(func() { x.violation.Shrunk = &report.Shrunk{Calls: k.calls, Complete: complete, From: from, To: to} })
	}
	if changed {
		return r.merge(x, smallest)
	}
	return nil
}

// replay executes a scenario until it does not violate the property, and so many
// times at most. It returns the last trial.
func (r *run) replay(ctx context.Context, worker int, s scenario.Scenario, property string, times int) (v visit, failed int, err error) {
	for range times {
		if v, err = r.try(ctx, worker, s); err != nil {
			return v, failed, err
		}
		if !violates(v.judgement, property) {
			break
		}
		failed++
	}
	return v, failed, nil
}

// replace writes down a trial in the place of the one that a violation was found
// in. Its scenario has failed in all of so many replays.
func (r *run) replace(x *finding, v visit, replays int) error {
	again, ok := violationOf(v.judgement, x.property, x.violation.Order)
	if !ok {
		return fmt.Errorf("replace the failure %s: its trial does not violate %s", x.base, x.property)
	}
	if err := r.rewrite(x, v, again); err != nil {
		return err
	}
	r.findings.lock(func() {
		x.violation.Reproduced = report.Reproduced{Failed: replays, Runs: replays}
		r.findings.note(x)
	})
	return nil
}

// merge counts a violation to the one whose scenario is of the same kind, if
// there is one: two random scenarios may hold the same bug.
func (r *run) merge(x *finding, smallest scenario.Scenario) error {
	f := r.findings
	merged := false
	f.lock(func() {
		key := x.property + " " + kindOfPoint(smallest)
		known := f.found[key]
		switch {
		case known == nil:
			f.found[key] = x.violation
		case known != x.violation:
			known.Cells += x.violation.Cells
			for k, v := range f.found {
				if v == x.violation {
					f.found[k] = known
				}
			}
			f.list = slices.DeleteFunc(f.list, func(y *finding) bool { return y == x })
			merged = true
		}
	})
	if !merged || x.base == "" {
		return nil
	}
	if err := removeFiles(x.base); err != nil {
		return fmt.Errorf("remove a failure that is known: %w", err)
	}
	return nil
}
