package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// noFault is the point of a violation that took no fault.
const noFault = "no fault"

// findings collects what the trials of a run showed.
type findings struct {
	mu      sync.Mutex
	trials  int
	order   []string // property names as they were first judged
	claimed map[string]bool
	verdict map[string]properties.Verdict
	why     map[string]*reasons
	other   reasons // for unknown, where they belong to no property
	found   map[string]*report.Violation
	list    []*finding
}

type finding struct {
	property  string
	kind      string // of the point, without its occurrence
	violation *report.Violation
	replayed  bool // all its replays are done
}

// always reports whether every replay failed again.
func (x *finding) always() bool {
	r := x.violation.Reproduced
	return x.replayed && r.Failed > 0 && r.Failed == r.Runs
}

// share is the part of the replays that failed again.
func (x *finding) share() float64 {
	return float64(x.violation.Reproduced.Failed) / float64(max(1, x.violation.Reproduced.Runs))
}

func newFindings() *findings {
	return &findings{claimed: map[string]bool{}, verdict: map[string]properties.Verdict{}, why: map[string]*reasons{}, found: map[string]*report.Violation{}}
}

func (f *findings) lock(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *findings) count() int { return len(f.list) }

// confirmed reports whether a violation of a claimed property failed again in
// every replay.
func (f *findings) confirmed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.list {
		if f.claimed[x.property] && x.always() {
			return true
		}
	}
	return false
}

// convicted reports whether a replay has reproduced a violation of a claimed
// property at the same kind of point: a loss takes its time to be proven, and
// proving it once more shows nothing new.
func (f *findings) convicted(s scenario.Scenario) bool {
	kind := kindOfPoint(s)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.list {
		if f.claimed[x.property] && x.kind == kind && x.violation.Reproduced.Failed > 0 {
			return true
		}
	}
	return false
}

// take adds a judged trial to the findings. A violation of a new kind is
// written down and replayed on the spot, while its logs are there.
func (r *run) take(ctx context.Context, worker int, v visit, where string) error {
	type fresh struct {
		property  string
		violation properties.Violation
		into      *report.Violation
	}
	var news []fresh
	f := r.findings
	f.lock(func() {
		for _, reason := range v.judgement.Why {
			f.other.add(whence(where, v), reason)
		}
		for _, p := range v.judgement.Results {
			if _, known := f.verdict[p.Property]; !known {
				f.order = append(f.order, p.Property)
				f.verdict[p.Property] = properties.Pass
			}
			f.claimed[p.Property] = p.Claimed
			f.verdict[p.Property] = f.verdict[p.Property].Worse(p.Verdict)
			if p.Verdict == properties.UnknownResult {
				if f.why[p.Property] == nil {
					f.why[p.Property] = &reasons{}
				}
				for _, reason := range p.Why {
					f.why[p.Property].add(whence(where, v), reason)
				}
			}
			for _, violation := range p.Violations {
				key := p.Property + " " + kindOfPoint(v.scenario)
				if known := f.found[key]; known != nil {
					known.Cells++
					continue
				}
				into := &report.Violation{Cells: 1}
				f.found[key] = into
				news = append(news, fresh{p.Property, violation, into})
			}
		}
	})
	for _, n := range news {
		if err := r.writeDown(ctx, worker, v, n.property, n.violation, n.into); err != nil {
			return err
		}
	}
	return nil
}

// whence names a trial: its run and its last fault.
func whence(where string, v visit) string {
	all := v.scenario.AllFaults()
	if len(all) == 0 {
		return where + ", no fault"
	}
	return fmt.Sprintf("%s: %s", where, all[len(all)-1])
}

// kindOfPoint names a scenario's faults without their occurrence: the same
// statement of another order shows the same bug.
func kindOfPoint(s scenario.Scenario) string {
	all := s.AllFaults()
	if len(all) == 0 {
		return noFault
	}
	var kinds []string
	for _, f := range all {
		if f.At != nil {
			p := *f.At
			p.N = 1
			f.At = &p
		}
		f.Drop = nil
		kinds = append(kinds, f.String())
	}
	return strings.Join(kinds, " and ")
}

// writeDown saves the scenario, the history and the logs of a violation, and
// replays it.
func (r *run) writeDown(ctx context.Context, worker int, v visit, property string, violation properties.Violation, into *report.Violation) error {
	into.Summary, into.Order, into.Evidence = violation.Summary, violation.Order, violation.Evidence
	into.Point, into.Fault = noFault, ""
	var texts []string
	all := v.scenario.AllFaults()
	for i, f := range all {
		texts = append(texts, f.String())
		if i == len(all)-1 && f.At != nil {
			into.Point = f.At.String()
		} else if f.At == nil {
			into.Point = "clock " + f.Clock.String()
		}
	}
	into.Fault = strings.Join(texts, "; then ")
	base, err := r.freeName(property)
	if err != nil {
		return err
	}
	into.Scenario, into.History = relative(base+".yaml"), relative(base+".jsonl")
	comment := []string{property + ": " + violation.Summary, "replay it: outboxtest replay " + into.Scenario}
	if err := scenario.Save(base+".yaml", v.scenario, comment...); err != nil {
		return err
	}
	if err := writeHistory(base+".jsonl", v.history); err != nil {
		return err
	}
	if err := copyLogs(v.logs, base+".logs"); err != nil {
		return err
	}
	found := &finding{property: property, kind: kindOfPoint(v.scenario), violation: into}
	replays := r.replays(property)
	r.findings.lock(func() { r.findings.list = append(r.findings.list, found) })
	for range replays {
		again, err := r.try(ctx, worker, v.scenario)
		if err != nil {
			return fmt.Errorf("replay %s: %w", into.Scenario, err)
		}
		r.findings.lock(func() {
			into.Reproduced.Runs++
			if violates(again.judgement, property) {
				into.Reproduced.Failed++
			}
		})
	}
	r.findings.lock(func() { found.replayed = true })
	return nil
}

// replays is how often the next violation of a property is replayed.
func (r *run) replays(property string) int {
	if r.options.Replays > 0 {
		return r.options.Replays
	}
	replays := 3
	r.findings.lock(func() {
		for _, x := range r.findings.list {
			if x.property == property && x.always() {
				replays = 1
			}
		}
	})
	return replays
}

func violates(j properties.Judgement, property string) bool {
	for _, p := range j.Results {
		if p.Property == property && len(p.Violations) > 0 {
			return true
		}
	}
	return false
}
