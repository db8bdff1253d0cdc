package report

import (
	"fmt"

	"github.com/outboxtest/outboxtest/properties"
)

// Judgement is what the properties say of one history, indented by two: a line
// a property, below it each violation with its evidence, and the reasons for
// what is unknown.
func Judgement(j properties.Judgement) []string {
	width := 0
	for _, r := range j.Results {
		width = max(width, len(r.Property))
	}
	var lines []string
	for _, r := range j.Results {
		lines = append(lines, verdictLine(r.Property, width, string(r.Verdict), r.Claimed))
		for _, v := range r.Violations {
			lines = append(lines, Fold("    ", v.Summary)...)
			for _, e := range v.Evidence {
				lines = append(lines, Fold("      ", e)...)
			}
		}
		for _, why := range r.Why {
			lines = append(lines, Fold("    ", "unknown: "+why)...)
		}
	}
	for _, why := range j.Why {
		lines = append(lines, Fold("  ", "unknown: "+why)...)
	}
	if j.Blame != "" {
		lines = append(lines, Fold("  ", "to blame: "+j.Blame)...)
	}
	return lines
}

// Unknown is why so many of the replays of a scenario are unknown, indented by
// two.
func Unknown(unknown, runs int, why []string) []string {
	lines := []string{fmt.Sprintf("  unknown %d of %d:", unknown, runs)}
	for _, text := range why {
		lines = append(lines, Fold("    ", text)...)
	}
	return lines
}

// verdictLine is the line of one property.
func verdictLine(property string, width int, verdict string, claimed bool) string {
	line := fmt.Sprintf("  %-*s  %s", width, property, verdict)
	if !claimed {
		line += " (not claimed: for information)"
	}
	return line
}
