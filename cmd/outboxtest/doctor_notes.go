package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/diagnosis"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// notes writes what doctor finds, a line each, as it finds it.
type notes struct {
	w     io.Writer
	color bool
}

// The columns of doctor's lines.
const (
	nameColumn  = 11
	stateColumn = 6
)

// note writes something that is no step.
func (n notes) note(what, format string, args ...any) {
	n.line(fmt.Sprintf("%-*s", nameColumn, what), nameColumn, fmt.Sprintf(format, args...))
}

// step writes what became of a step.
func (n notes) step(s diagnosis.Step) {
	state, as := "-", properties.Verdict("")
	switch s.State {
	case diagnosis.OK:
		state, as = "ok", properties.Pass
	case diagnosis.Wrong:
		state, as = "WRONG", properties.Fail
	}
	padded := fmt.Sprintf("%-*s", stateColumn, state)
	if as != "" {
		padded = report.Mark(as, state, n.color) + padded[len(state):]
	}
	n.line(fmt.Sprintf("%-*s", nameColumn, s.Name)+" "+padded, nameColumn+1+stateColumn, s.What)
}

// line writes a text behind its heading, which is so wide, in as many lines as it
// takes.
func (n notes) line(heading string, width int, text string) {
	for i, line := range report.Fold(strings.Repeat(" ", width+1), text) {
		if i == 0 {
			line = strings.TrimRight(heading+" "+strings.TrimSpace(line), " ")
		}
		fmt.Fprintln(n.w, line)
	}
}

// told writes what follows the steps.
func (n notes) told(target string, e harness.Examination) {
	if wrong := e.Wrong(); wrong != nil {
		n.wrong(target, *wrong)
		if e.Result != nil && e.Result.Verdict == properties.Fail {
			n.judged(*e.Result)
			n.note("not ready", "one trial without any fault shows that it is the outbox: a property is violated")
		}
		return
	}
	if e.Result == nil {
		return
	}
	n.judged(*e.Result)
	n.pace(e)
	switch e.Result.Verdict {
	case properties.Pass:
		n.note("ready", "the fault-free runs show everything that a verdict needs: outboxtest run %s", e.Result.Target)
	case properties.Fail:
		n.note("not ready", "a property is violated without any fault: mend that first")
	default:
		n.note("not ready", "the fault-free runs do not show enough to judge by: a pass would not be earned")
	}
}

// wrong writes how to mend a step, and what there is to look at.
func (n notes) wrong(target string, s diagnosis.Step) {
	if s.Mend != "" {
		n.note("mend", "%s", s.Mend)
	}
	for _, e := range s.Evidence {
		for _, line := range report.Fold("  ", e) {
			fmt.Fprintln(n.w, line)
		}
	}
	n.note("not ready", "%s comes as far as the step %s; what follows was not tried", target, s.Name)
}

// judged tells what the fault-free runs show, and what they do not.
func (n notes) judged(r harness.Result) {
	for _, p := range r.Properties {
		text := string(p.Verdict)
		if !p.Claimed {
			text += " (not claimed: for information)"
		}
		n.note("judged", "%s: %s", p.Name, text)
		for _, v := range p.Violations {
			for _, line := range append(report.Fold("  ", v.Summary), report.Details(v)...) {
				fmt.Fprintln(n.w, line)
			}
		}
	}
	for _, reason := range report.Reasons(r) {
		for _, line := range report.Fold("  ", "not known: "+reason) {
			fmt.Fprintln(n.w, line)
		}
	}
}

// pace tells how fast the target is, and what that means for a sweep.
func (n notes) pace(e harness.Examination) {
	if e.Pace == nil {
		return
	}
	var starts []string
	for _, role := range []string{targets.RoleApp, targets.RoleRelay, targets.RoleConsumer} {
		if d := e.Pace.Starts[role]; d > 0 {
			starts = append(starts, fmt.Sprintf("the %s %s", role, short(d)))
		}
	}
	if len(starts) > 0 {
		n.note("start", "%s", strings.Join(starts, ", "))
	}
	if e.Pace.Poll > 0 {
		n.note("poll", "the relay looks every %s when there is nothing to do", short(e.Pace.Poll))
	}
	if e.Pace.Event > 0 {
		n.note("drain", "an event is out %s after its order, %s at the latest", short(e.Pace.Event), short(e.Pace.Slowest))
	}
	if est := e.Estimate; est != nil {
		n.note("sweep", "about %s: %d cells in %d trials, %d at a time; second faults come to them", between(est.Least, est.Most), est.Cells, est.Trials, est.Jobs)
	}
	for _, text := range e.Advice {
		n.note("lower", "%s", text)
	}
}

// between is a span of time as a person says it.
func between(least, most time.Duration) string {
	a, b := rough(least), rough(most)
	if a == b {
		return a
	}
	return a + " to " + b
}

// rough is a time as exact as an estimate is.
func rough(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d seconds", max(5, int((d+2500*time.Millisecond)/(5*time.Second))*5))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d minutes", int((d+30*time.Second)/time.Minute))
	}
	return fmt.Sprintf("%.1f hours", d.Hours())
}

// short is a measured time.
func short(d time.Duration) string {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// object is what doctor writes as JSON: the steps, and the result of the fault-free
// runs, if it came to them.
type object struct {
	Version  int                `json:"version"`
	Target   string             `json:"target"`
	Verdict  properties.Verdict `json:"verdict"`
	Steps    []diagnosis.Step   `json:"steps"`
	Pace     *diagnosis.Pace    `json:"pace,omitempty"`
	Estimate *harness.Estimate  `json:"estimate,omitempty"`
	Advice   []string           `json:"advice,omitempty"`
	*harness.Result
}

func objectOf(target string, e harness.Examination) object {
	o := object{Version: report.Version, Target: target, Verdict: e.Verdict(), Steps: e.Steps, Advice: e.Advice, Estimate: e.Estimate, Result: e.Result}
	if e.Wrong() == nil {
		o.Pace = e.Pace
	}
	return o
}
