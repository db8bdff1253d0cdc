package harness

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// Replayed is what came of executing one scenario again.
type Replayed struct {
	// Runs counts the executions; the others count those with each verdict.
	Runs    int `json:"runs"`
	Failed  int `json:"failed"`
	Passed  int `json:"passed"`
	Unknown int `json:"unknown"`
	// Why says of those that are unknown why they are, each cause once and no
	// more than a few.
	Why []string `json:"why,omitempty"`
	// Judgement is the worst one, and History the trial that it judges.
	Judgement properties.Judgement `json:"judgement"`
	History   []properties.Event   `json:"-"`
	// FirstUnknown is the first trial that is unknown; nil when none is.
	FirstUnknown []properties.Event `json:"-"`

	why reasons
}

// count takes note of one more execution.
func (r *Replayed) count(j properties.Judgement, history []properties.Event) {
	r.Runs++
	switch j.Verdict {
	case properties.Fail:
		r.Failed++
	case properties.Pass:
		r.Passed++
	default:
		r.Unknown++
		if r.FirstUnknown == nil {
			r.FirstUnknown = history
		}
		r.why.judged(j)
		r.Why = r.why.told()
	}
	if r.History == nil || r.Judgement.Verdict.Worse(j.Verdict) != r.Judgement.Verdict {
		r.Judgement, r.History = j, history
	}
}

// Replay executes a scenario the given number of times, on all jobs of the
// session, after one execution without its faults to compare with. Progress is reported under the phase replay.
func (s *Session) Replay(ctx context.Context, target targets.Target, sc scenario.Scenario, times int, o Options) (Replayed, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Replayed{}, err
	}
	if times < 1 {
		return Replayed{}, &InputError{fmt.Sprintf("a scenario is replayed at least once, not %d times", times)}
	}
	if err := sc.Validate(); err != nil {
		return Replayed{}, &InputError{err.Error()}
	}
	target = target.WithDefaults()
	if err := target.Validate(); err != nil {
		return Replayed{}, &InputError{err.Error()}
	}
	if err := fits(sc, target); err != nil {
		return Replayed{}, err
	}
	if err := s.build(ctx, target, o.Progress); err != nil {
		return Replayed{}, err
	}
	jobs, err := s.jobs(ctx, target)
	if err != nil {
		return Replayed{}, err
	}
	for _, j := range jobs {
		j.ProveSegments() // there is no other trial to find out what a chain lost
	}
	r := &run{session: s, target: target, options: o, jobs: jobs, findings: newFindings()}
	if len(sc.AllFaults()) > 0 {
		v, err := r.try(ctx, 0, sc.Calm())
		if err != nil {
			return Replayed{}, fmt.Errorf("the scenario without its faults: %w", err)
		}
		r.learn(v)
	}
	out := Replayed{Judgement: properties.Judgement{Verdict: properties.Pass}}
	err = search.Each(ctx, len(jobs), upTo(times), func(ctx context.Context, worker, _ int) error {
		v, err := r.try(ctx, worker, sc)
		if err != nil {
			return err
		}
		r.findings.lock(func() {
			out.count(v.judgement, v.history)
			r.findings.undecided = out.Unknown
			r.progress("replay", out.Runs, times)
		})
		return nil
	})
	return out, err
}

// OneLine is the scenario of faults on one line, as a report prints them
// ([faults.ParseFaults]): what [Run] records under the name of a run, stepwise if
// it is empty, with the orders of the options, and the faults in it.
func OneLine(target targets.Target, line, run string, o Options) (scenario.Scenario, error) {
	o, err := o.withDefaults()
	if err != nil {
		return scenario.Scenario{}, err
	}
	list, err := faults.ParseFaults(line)
	if err != nil {
		return scenario.Scenario{}, &InputError{err.Error()}
	}
	var names []string
	for _, known := range search.Runs(shapeOf(target.WithDefaults(), o)) {
		if known.Name == cmp.Or(run, search.RunStepwise) {
			sc := known.Scenario
			sc.Faults = list
			return sc, nil
		}
		names = append(names, known.Name)
	}
	return scenario.Scenario{}, &InputError{fmt.Sprintf("%q is no recorded run: use %s", run, strings.Join(names, ", "))}
}

// fits refuses a scenario that names a role which the target does not have as
// a process of its own: its faults could never strike.
func fits(sc scenario.Scenario, target targets.Target) error {
	has := map[string]bool{"app": true, "relay": !target.Relay.InApp, "consumer": true}
	if _, aborted := sc.Orders(); len(aborted) > 0 && !aborts(target) {
		return &InputError{fmt.Sprintf("the scenario aborts an order, but the app of %s cannot be asked to: its manifest says abort: true if it can", target.Name)}
	}
	relays, apps := target.Relays(sc.Replicas), 1
	if sc.Overlaps() {
		apps = 2
	}
	for i, f := range sc.AllFaults() {
		in := f.Instance()
		if !has[in.Role] {
			return &InputError{fmt.Sprintf("fault %d names %s, but the target %s has no process for the role %s (it says relay: app)", i+1, in, target.Name, in.Role)}
		}
		most := 1
		switch in.Role {
		case "relay":
			most = relays
		case "app":
			most = apps
		case "consumer":
			if target.Consumer != nil {
				most = max(1, target.Consumer.Replicas)
			}
		}
		if in.Index >= most {
			return &InputError{fmt.Sprintf("fault %d names %s, but the scenario runs %d of the role %s", i+1, in, most, in.Role)}
		}
	}
	return nil
}
