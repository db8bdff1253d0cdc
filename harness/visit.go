package harness

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
)

// visit is one trial and its judgement.
type visit struct {
	scenario  scenario.Scenario
	history   []properties.Event
	judgement properties.Judgement
	logs      string
}

// try executes a scenario once and judges it. In a faulted trial a target that
// misbehaves is no error: the history says what was seen, and the judgement is
// unknown.
func (r *run) try(ctx context.Context, worker int, s scenario.Scenario) (visit, error) {
	out, err := r.jobs[worker].Run(ctx, s, r.baseline(s))
	r.findings.lock(func() { r.findings.trials++ })
	if err != nil {
		var wrong *trial.TargetError
		if ctx.Err() != nil || !errors.As(err, &wrong) || len(s.Faults) == 0 {
			return visit{}, err
		}
	}
	return visit{scenario: s, history: out.History, judgement: properties.Judge(out.History), logs: out.Logs}, nil
}

// fired reports whether every planned fault struck.
func (v visit) fired() bool { return v.struck() == len(v.scenario.Faults) }

// struck counts the planned faults that struck.
func (v visit) struck() int {
	fired := map[int]bool{}
	for _, e := range v.history {
		if e.Fault != nil && e.Fault.What == "fired" {
			fired[e.Fault.Index] = true
		}
	}
	return len(fired)
}

// whyUnfired says what was seen in place of the faults that did not fire.
func (v visit) whyUnfired() string {
	var why []string
	for _, e := range v.history {
		if e.Fault != nil && e.Fault.What == "not fired" {
			why = append(why, e.Fault.Why)
		}
		if e.Kind == properties.KindProblem {
			why = append(why, e.Problem)
		}
	}
	return strings.Join(why, "; ")
}

// reasons are all the reasons for an unknown judgement.
func (v visit) reasons() []string {
	why := append([]string(nil), v.judgement.Why...)
	for _, p := range v.judgement.Results {
		if p.Verdict == properties.UnknownResult {
			why = append(why, p.Why...)
		}
	}
	return why
}

// baseline is what the scenario's workload showed without faults, if it was
// run.
func (r *run) baseline(s scenario.Scenario) (b *properties.Baseline) {
	if len(s.Faults) == 0 {
		return nil
	}
	r.findings.lock(func() { b = r.baselines[workloadOf(s)] })
	return b
}

// learn keeps the baseline that a fault-free trial gives.
func (r *run) learn(v visit) {
	if b := properties.BaselineOf(v.history); b != nil {
		r.findings.lock(func() {
			if r.baselines == nil {
				r.baselines = map[string]*properties.Baseline{}
			}
			r.baselines[workloadOf(v.scenario)] = b
		})
	}
}

// workloadOf names a workload and its pace, whatever its faults.
func workloadOf(s scenario.Scenario) string {
	text, err := json.Marshal(scenario.Scenario{Pace: s.Pace, Workload: s.Workload})
	if err != nil {
		panic(err) // plain data
	}
	return string(text)
}
