package report

import (
	"fmt"
	"strings"

	"github.com/outboxtest/outboxtest/properties"
)

// Headline is a result in one line: the target, the verdict, how much was
// exercised, and how long it took.
func Headline(r Result) string {
	return fmt.Sprintf("%s: %s, %s", printable(r.Target), r.Verdict, extent(r))
}

// extent says how much a run covers.
func extent(r Result) string {
	return fmt.Sprintf("%s, %s in %.1f s", cells(r), counted(r.Trials, "trial"), r.Seconds)
}

// cells counts the cells that were exercised among those that were planned:
// what was left out as not applicable was not, nor was another shard's part.
func cells(r Result) string {
	planned := r.Points.Total - r.Points.NotApplicable
	of := ""
	if r.Shard != nil {
		others := with(r.NotTried, ReasonShard)
		planned -= others.Cells - others.Recovery
		of = fmt.Sprintf(" in shard %s", r.Shard)
	}
	if planned == 0 {
		return "no cells swept" + of
	}
	return fmt.Sprintf("%d of %s exercised%s", r.Points.Exercised, counted(planned, "cell"), of)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Details are the lines below a violation's summary, indented by two: the
// fault and its point, the evidence, how many replays failed again, and the
// line that replays it.
func Details(v Violation) []string {
	lines := Fold("  ", "fault: "+faultText(v))
	if len(v.Evidence) > 0 {
		lines = append(lines, "  evidence:")
		for _, e := range v.Evidence {
			lines = append(lines, Fold("    ", e)...)
		}
	}
	return append(lines, closing(v)...)
}

// closing is what every violation is reported with, however short.
func closing(v Violation) []string {
	lines := Fold("  ", reproduced(v))
	for _, text := range refined(v) {
		// A report indents the lines once more.
		for _, line := range Fold("    ", text) {
			lines = append(lines, line[2:])
		}
	}
	if v.Unkept != "" {
		lines = append(lines, Fold("  ", "not kept: "+v.Unkept)...)
	}
	if line := ReplayLine(v); line != "" {
		lines = append(lines, "  replay it: "+line)
	}
	if v.History != "" {
		lines = append(lines, "  judge its history again: outboxtest check "+shellWord(v.History))
	}
	return lines
}

// ReplayLine is the command that replays a violation, for a shell; empty where
// there is none.
func ReplayLine(v Violation) string {
	if v.Scenario == "" {
		return printable(v.Command)
	}
	return "outboxtest replay " + shellWord(v.Scenario)
}

// Command is the command of these words, for a shell.
func Command(words ...string) string {
	line := "outboxtest"
	for _, word := range words {
		line += " " + shellWord(word)
	}
	return line
}

// faultText is the fault with its point, or that it took none.
func faultText(v Violation) string {
	switch {
	case v.Fault == "":
		return "none was needed"
	case v.Point == "" || strings.Contains(v.Fault, v.Point):
		return v.Fault
	}
	return v.Fault + " at " + v.Point
}

func reproduced(v Violation) string {
	var text string
	switch {
	case v.Reproduced.Runs == 0:
		text = "not replayed yet"
	case v.Reproduced.Failed == 0:
		text = fmt.Sprintf("reproduced in 0 of %s: the ledgers prove it, but it does not come at every try", counted(v.Reproduced.Runs, "replay"))
	default:
		text = fmt.Sprintf("reproduced in %d of %s", v.Reproduced.Failed, counted(v.Reproduced.Runs, "replay"))
	}
	if v.Cells > 1 {
		text += fmt.Sprintf("; seen in %d cells", v.Cells)
	}
	return text
}

// refined tells how the scenario came from the one that first failed.
func refined(v Violation) (texts []string) {
	if h := v.Holds; h != nil {
		text := "it takes a schedule, which holds bring back every time"
		if !h.Found {
			text = "it takes a schedule, and no holds were found that bring it back every time"
		}
		texts = append(texts, fmt.Sprintf("%s (tried %s)", text, counted(h.Tried, "scenario")))
	}
	if s := v.Shrunk; s != nil {
		text := fmt.Sprintf("shrunk from %s to %s (tried %s)", s.From, s.To, counted(s.Calls, "scenario"))
		if s.From == s.To {
			text = fmt.Sprintf("nothing with fewer orders or faults was found (tried %s)", counted(s.Calls, "scenario"))
		}
		if !s.Complete {
			text += ", not to the end: a smaller one may fail as well"
		}
		texts = append(texts, text)
	}
	if v.Unshrunk != "" {
		mend := "run it again"
		switch v.Unshrunk {
		case ReasonStopped:
			mend += " without --stop-at-first"
		case ReasonBudget:
			mend += " with a larger --budget, or without one,"
		}
		texts = append(texts, fmt.Sprintf("not shrunk, a smaller scenario may fail as well: %s; %s to have it shrunk", v.Unshrunk, mend))
	}
	return texts
}

// mostUnreached bounds how many unreached cells are listed one by one; the
// JSON object has them all.
const mostUnreached = 10

// Reasons are why a result is unknown, a line each: the cells whose fault did
// not fire, those that had no turn, the reasons of each claimed property, and
// those that belong to no property.
func Reasons(r Result) []string {
	var lines []string
	for i, u := range r.Unreached {
		if i == mostUnreached {
			lines = append(lines, fmt.Sprintf("not reached: %d more", len(r.Unreached)-i))
			break
		}
		lines = append(lines, printable(because(fmt.Sprintf("not reached: %s (%s run)", u.Fault, u.Run), u.Why)))
	}
	for _, n := range r.NotTried {
		if r.misses(n.Reason) {
			lines = append(lines, fmt.Sprintf("not tried: %s: %s", n, n.Reason))
		}
	}
	for _, p := range r.Properties {
		if !p.Claimed || p.Verdict != properties.UnknownResult {
			continue
		}
		for _, why := range p.Why {
			lines = append(lines, printable(p.Name+": "+why))
		}
		if len(p.Why) == 0 {
			lines = append(lines, p.Name+": no reason was given")
		}
	}
	for _, why := range r.Why {
		lines = append(lines, printable(why))
	}
	return lines
}

func because(text, why string) string {
	if why == "" {
		return text
	}
	return text + ": " + why
}
