package harness

import (
	"encoding/json"
	"strings"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// visit is one trial and its judgement.
type visit struct {
	scenario  scenario.Scenario
	history   []properties.Event
	judgement properties.Judgement
	logs      string
	// random: the scenario was drawn, and may hold more than matters.
	random bool
	// segments is how many segments drained with all their faults struck.
	segments int
	// trouble is what kept the trial from being carried out; nil as a rule.
	trouble error
	// misbehaved: the target was not what it must be, which the judgement tells.
	misbehaved bool
}

// fired reports whether every planned fault struck, in a trial that was carried
// out.
func (v visit) fired() bool { return v.trouble == nil && v.struck() == len(v.scenario.AllFaults()) }

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
	if v.trouble != nil {
		return v.whyTroubled()
	}
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
	if len(s.AllFaults()) == 0 {
		return nil
	}
	r.findings.lock(func() { b = r.baselines[workloadOf(s)] })
	return b
}

// learn keeps the baseline that a fault-free trial gives.
func (r *run) learn(v visit) {
	r.baseOn(v.scenario, properties.BaselineOf(v.history))
}

// baseOn keeps a baseline for a scenario's workload.
func (r *run) baseOn(s scenario.Scenario, b *properties.Baseline) {
	if b == nil {
		return
	}
	r.findings.lock(func() {
		if r.baselines == nil {
			r.baselines = map[string]*properties.Baseline{}
		}
		r.baselines[workloadOf(s)] = b
	})
}

// workloadOf names a workload and its pace, whatever its faults.
func workloadOf(s scenario.Scenario) string {
	calm := s.Calm()
	text, err := json.Marshal(scenario.Scenario{Pace: s.Pace, Workload: s.Workload, Segments: calm.Segments})
	if err != nil {
		panic(err) // plain data
	}
	return string(text)
}
