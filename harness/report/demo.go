package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/outboxtest/outboxtest/properties"
)

// Outcome is what a demo makes of one target.
type Outcome string

// The outcomes. Right ones are Acquitted and Caught.
const (
	Acquitted Outcome = "pass"    // a reference passed
	Caught    Outcome = "caught"  // a mutant was convicted by the property named for it
	Missed    Outcome = "MISSED"  // a mutant passed
	Wrong     Outcome = "WRONG"   // a reference was convicted, or a mutant by another property alone
	Undecided Outcome = "unknown" // neither convicted nor acquitted
)

// CaughtBy lists the claimed properties that convicted the target.
func CaughtBy(r Result) []string {
	names := []string{}
	for _, p := range r.Properties {
		if p.Claimed && len(p.Violations) > 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

// OutcomeOf compares what a demo expected of a target with what came.
func OutcomeOf(r Result) Outcome {
	switch {
	case r.Expected == properties.Fail && convicts(r, r.ExpectedProperty):
		return Caught
	case r.Verdict == properties.Fail:
		return Wrong
	case r.Verdict == properties.UnknownResult:
		return Undecided
	case r.Expected == properties.Fail:
		return Missed
	}
	return Acquitted
}

// Judge fills in the demo's verdict: pass when everything came as expected,
// fail when a mutant was missed or anything wrongly convicted.
func (d *Demo) Judge() {
	d.Verdict = properties.Pass
	for _, r := range d.Targets {
		switch OutcomeOf(r) {
		case Missed, Wrong:
			d.Verdict = d.Verdict.Worse(properties.Fail)
		case Undecided:
			d.Verdict = d.Verdict.Worse(properties.UnknownResult)
		}
	}
}

func convicts(r Result, property string) bool {
	for _, p := range r.Properties {
		if p.Name == property {
			return p.Claimed && len(p.Violations) > 0
		}
	}
	return false
}

// WriteDemo writes the whole table of a demo: the head, a row a target, and
// the sum. An error is that of w.
func WriteDemo(w io.Writer, d Demo, color bool) error {
	if err := WriteDemoHead(w, color); err != nil {
		return err
	}
	for _, r := range d.Targets {
		if err := WriteDemoRow(w, r, color); err != nil {
			return err
		}
	}
	return WriteDemoSum(w, d, color)
}

// mostReasons bounds the reasons in the row of a target that is unknown.
const mostReasons = 3

// The columns of the table: names are no longer than the longest built-in's.
const (
	nameWidth    = 34
	outcomeWidth = 8
)

// WriteDemoHead writes the head of the table.
func WriteDemoHead(w io.Writer, color bool) error {
	line := fmt.Sprintf("%-*s %-*s %s", nameWidth, "target", outcomeWidth, "verdict", "why")
	_, err := fmt.Fprintln(w, paint(color).with(bold, line))
	return err
}

// WriteDemoRow writes the row of one target, when it is done: what came of it,
// and for a conviction the line that replays it.
func WriteDemoRow(w io.Writer, r Result, color bool) error {
	p := paint(color)
	outcome := OutcomeOf(r)
	shade := properties.UnknownResult
	switch outcome {
	case Acquitted, Caught:
		shade = properties.Pass
	case Missed, Wrong:
		shade = properties.Fail
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%-*s %s ", nameWidth, printable(r.Target), p.verdict(shade, fmt.Sprintf("%-*s", outcomeWidth, outcome)))
	var below []string
	switch outcome {
	case Caught, Wrong:
		name, v := conviction(r)
		b.WriteString(printable(name + where(v)))
		if outcome == Wrong && r.Expected == properties.Fail {
			below = append(below, "expected "+r.ExpectedProperty)
		}
		if v.Reproduced.Failed == 0 {
			below = append(below, reproduced(v))
		}
		if v.Unkept != "" {
			below = append(below, "not kept: "+v.Unkept)
		}
		if line := ReplayLine(v); line != "" {
			below = append(below, line)
		}
	case Missed:
		b.WriteString("expected " + r.ExpectedProperty)
		below = append(below, extent(r))
	default:
		b.WriteString(extent(r))
	}
	b.WriteString("\n")
	if outcome == Undecided {
		reasons := Reasons(r)
		below = append(below, reasons[:min(len(reasons), mostReasons)]...)
		if more := len(reasons) - mostReasons; more > 0 {
			below = append(below, fmt.Sprintf("%s more: outboxtest run %s tells them", counted(more, "reason"), shellWord(r.Target)))
		}
	}
	for _, line := range below {
		b.WriteString("    " + printable(line) + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// conviction is the violation that a row tells: of the expected property if
// there is one, and one that a replay confirmed rather than another.
func conviction(r Result) (property string, v Violation) {
	for _, expected := range []bool{true, false} {
		for _, confirmed := range []bool{true, false} {
			for _, p := range r.Properties {
				if !p.Claimed || (p.Name == r.ExpectedProperty) != expected {
					continue
				}
				for _, v := range p.Violations {
					if (v.Reproduced.Failed > 0) == confirmed {
						return p.Name, v
					}
				}
			}
		}
	}
	return "a violation", Violation{}
}

// where is the point of a violation, after the property that it violates.
func where(v Violation) string {
	if v.Fault == "" {
		return " without any fault"
	}
	return " at " + v.Point
}

// WriteDemoSum writes the last line of a demo.
func WriteDemoSum(w io.Writer, d Demo, color bool) error {
	count := map[Outcome]int{}
	trials := 0
	for _, r := range d.Targets {
		count[OutcomeOf(r)]++
		trials += r.Trials
	}
	line := fmt.Sprintf("%s: %d passed, %d caught", d.Verdict, count[Acquitted], count[Caught])
	for _, o := range []struct {
		outcome Outcome
		text    string
	}{{Missed, "missed"}, {Wrong, "wrong"}, {Undecided, "unknown"}} {
		if n := count[o.outcome]; n > 0 {
			line += fmt.Sprintf(", %d %s", n, o.text)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s (%s in %.1f s)\n", paint(color).verdict(d.Verdict, line), counted(trials, "trial"), d.Seconds)
	return err
}
