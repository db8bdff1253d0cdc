package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// noFault is the point of a violation that took no fault.
const noFault = "no fault"

// findings collects what the trials of a run showed.
type findings struct {
	mu     sync.Mutex
	trials int
	// undecided counts the trials that came to no verdict.
	undecided int
	order     []string // property names as they were first judged
	claimed   map[string]bool
	verdict   map[string]properties.Verdict
	why       map[string]*reasons
	other     reasons // for unknown, where they belong to no property
	blame     string  // of the first trial that blames somebody else than the target
	found     map[string]*report.Violation
	list      []*finding
	ends      *finding // the first one that a run ends at which stops at the first
}

type finding struct {
	property  string
	kind      string // of the point, without its occurrence
	cause     string // the only fault of what is written down, if that is all it takes
	base      string // of the files that are written down; empty where they could not be
	violation *report.Violation
	replayed  bool // all its replays are done
	refined   bool // nothing better is looked for any more
}

// always reports whether every replay failed again.
func (x *finding) always() bool {
	r := x.violation.Reproduced
	return x.replayed && r.Failed > 0 && r.Failed == r.Runs
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
		if f.blame == "" {
			f.blame = v.judgement.Blame
		}
		if v.judgement.Verdict == properties.UnknownResult {
			f.undecided++
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
				known := f.found[key]
				if known == nil && v.random {
					known = f.explains(p.Property, v.scenario)
				}
				if known != nil {
					known.Cells++
					continue
				}
				into := &report.Violation{Cells: 1}
				f.found[key] = into
				news = append(news, fresh{p.Property, violation, into})
			}
		}
	})
	// All are written down before the first is replayed: the next trial of the job
	// takes the logs away.
	var list []*finding
	for _, n := range news {
		list = append(list, r.writeDown(v, n.property, n.violation, n.into))
	}
	for _, x := range list {
		if err := r.confirm(ctx, worker, v, x); err != nil {
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
		for _, p := range []**faults.Point{&f.At, &f.Until} {
			if *p != nil {
				first := **p
				first.N = 1
				*p = &first
			}
		}
		f.Drop = nil
		kinds = append(kinds, f.String())
	}
	return strings.Join(kinds, " and ")
}

// explains finds a violation of the property whose only fault, which brings it
// back every time, is among those of a random scenario.
func (f *findings) explains(property string, s scenario.Scenario) *report.Violation {
	for _, fault := range s.AllFaults() {
		cause := causeOf(fault)
		for _, x := range f.list {
			if x.property == property && x.always() && cause != "" && x.cause == cause {
				return x.violation
			}
		}
	}
	return nil
}

// causeOf names a fault without its occurrence, its replica and its restart;
// empty for one at a time on the clock.
func causeOf(f faults.Fault) string {
	if f.At == nil || f.Until != nil {
		return ""
	}
	return fmt.Sprintf("%s at %s/%s %q %s", f.Do, f.At.Link.Role, f.At.Link.Server, f.At.Label, f.At.Moment)
}

// confirm replays what is written down, and puts a better scenario in its place
// if it finds one.
func (r *run) confirm(ctx context.Context, worker int, v visit, x *finding) error {
	into := x.violation
	for range r.replays(x.property) {
		again, err := r.try(ctx, worker, v.scenario)
		if err != nil {
			return fmt.Errorf("replay a violation of %s: %w", x.property, err)
		}
		if again.trouble != nil {
			continue // it says nothing about the violation
		}
		r.findings.lock(func() {
			into.Reproduced.Runs++
			if violates(again.judgement, x.property) {
				into.Reproduced.Failed++
			}
		})
	}
	r.findings.lock(func() {
		x.replayed = true
		r.findings.note(x)
	})
	if err := r.refine(ctx, worker, x, v); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("look for a smaller scenario of %s: %w", x.property, err)
		}
		// What was found is written down; that nothing smaller was is no loss.
		r.options.Log.Warn("the search for a smaller scenario ended early", "scenario", into.Scenario, "error", err)
	}
	r.findings.lock(func() { x.refined = true })
	return nil
}

// replays is how often the next violation of a property is replayed.
func (r *run) replays(property string) int {
	if r.options.Replays > 0 {
		return r.options.Replays
	}
	if r.shown(property) {
		return 1
	}
	return 3
}

func violates(j properties.Judgement, property string) bool {
	_, violated := violationOf(j, property, "")
	return violated
}

// violationOf is the violation of a property in a judgement, that of the order
// if there is one.
func violationOf(j properties.Judgement, property, order string) (found properties.Violation, ok bool) {
	for _, p := range j.Results {
		if p.Property != property {
			continue
		}
		for _, v := range p.Violations {
			if !ok || v.Order == order && found.Order != order {
				found, ok = v, true
			}
		}
	}
	return found, ok
}
