package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/outboxtest/outboxtest/properties"
)

// mostEvidence bounds the violations of one property that are told with all
// their evidence; the others keep their fault and what replays them.
const mostEvidence = 2

// Write writes the whole report of a run for people. Colour is for a terminal.
// An error is that of w.
func Write(w io.Writer, r Result, color bool) error {
	p := paint(color)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s, %s\n", p.with(bold, printable(r.Target)), p.verdict(r.Verdict, string(r.Verdict)), extent(r))
	width := 0
	for _, property := range r.Properties {
		width = max(width, len(property.Name))
	}
	for i, property := range r.Properties {
		if i > 0 && len(r.Properties[i-1].Violations) > 0 {
			b.WriteString("\n")
		}
		writeProperty(&b, property, width, p)
	}
	if x := r.Explored; x != nil {
		text := fmt.Sprintf("explored %s: %d of %s struck", counted(x.Trials, "random scenario"), x.Struck, counted(x.Faults, "fault"))
		if x.Partly > 0 {
			text += fmt.Sprintf("; %d had a fault that found nothing to strike", x.Partly)
		}
		b.WriteString("\n")
		put(&b, Fold("", text))
	}
	if p := r.Recovery; p != nil {
		b.WriteString("\n")
		put(&b, Fold("", recovered(*p)))
	}
	if len(r.LeftOut) > 0 {
		b.WriteString("\nleft out, not worth a trial:\n")
		for _, l := range r.LeftOut {
			put(&b, Fold("  ", fmt.Sprintf("%s: %s", l, l.Reason)))
		}
	}
	if n := with(r.NotTried, ReasonStopped); n.Cells > 0 {
		b.WriteString("\n")
		put(&b, Fold("", fmt.Sprintf("not tried: %s: %s", n, ReasonStopped)))
	}
	if reasons := Reasons(r); len(reasons) > 0 {
		b.WriteString("\nwhat is not known, and why:\n")
		for _, reason := range reasons {
			put(&b, Fold("  ", reason))
		}
	}
	if r.Blame != "" {
		b.WriteString("\n")
		put(&b, Fold("", "to blame: "+r.Blame))
	}
	b.WriteString("\n")
	put(&b, Fold("", ground(r)))
	if r.Verdict == properties.Pass {
		put(&b, Fold("", "A pass is no proof: nothing was lost, made up or applied twice at the points that were exercised."))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func writeProperty(b *bytes.Buffer, property Property, width int, p paint) {
	b.WriteString(verdictLine(property.Name, width, p.verdict(property.Verdict, string(property.Verdict)), property.Claimed) + "\n")
	for i, v := range property.Violations {
		b.WriteString("\n")
		put(b, Fold("  ", v.Summary))
		lines := Details(v)
		if i >= mostEvidence {
			lines = append(Fold("  ", "fault: "+faultText(v)), closing(v)...)
		}
		for _, line := range lines {
			b.WriteString("  " + line + "\n")
		}
	}
}

// recovered tells of the second faults.
func recovered(p Points) string {
	text := fmt.Sprintf("second faults, during a recovery: %d of %s exercised", p.Exercised, counted(p.Total-p.NotApplicable, "cell"))
	if p.NotApplicable > 0 {
		text += fmt.Sprintf(", %d left out", p.NotApplicable)
	}
	return text + "; they are not in the total above"
}

// ground tells what the run stood on.
func ground(r Result) string {
	e := r.Environment
	var parts []string
	if r.Seed != 0 {
		parts = append(parts, fmt.Sprintf("seed %d", r.Seed))
	}
	if r.TrialsPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("%.1f trials/s", r.TrialsPerSecond))
	}
	for _, server := range []struct{ name, version string }{{"PostgreSQL", e.Postgres}, {"broker", e.Broker}, {"outboxtest", e.Harness}} {
		if server.version != "" {
			parts = append(parts, server.name+" "+server.version)
		}
	}
	if e.OS != "" {
		parts = append(parts, fmt.Sprintf("%s with %s", e.OS, counted(e.CPUs, "processor")))
	}
	return strings.Join(append(parts, counted(e.Jobs, "job")), ", ")
}

func put(b *bytes.Buffer, lines []string) {
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
}
