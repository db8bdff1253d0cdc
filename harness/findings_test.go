package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
)

// A trial that violates two properties is written down for both of them, with
// its logs, although the replays for the first take the job's logs away.
func TestEveryViolationOfATrialKeepsItsLogs(t *testing.T) {
	s := borrow(t)
	r := prepared(t, s, find(t, "save-then-send").Target)
	sc := parse(t, faulted(oneOrder, at(`app.0/postgres "commit" #1 unanswered`, "kill")))
	v, err := r.try(t.Context(), 0, sc)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range v.judgement.Results {
		if len(p.Violations) > 0 {
			other := p
			other.Property = "another"
			v.judgement.Results = append(v.judgement.Results[:i+1:i+1], other)
			break
		}
	}
	if got := v.violated(); len(got) != 2 {
		t.Fatalf("violated: %v", got)
	}
	if err := r.take(t.Context(), 0, v, "stepwise"); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(r.options.Out, "failures", "*.logs"))
	if err != nil || len(logs) != 2 {
		t.Fatalf("logs of %v were kept (%v), want two", logs, err)
	}
	for _, dir := range logs {
		if kept, err := os.ReadDir(dir); err != nil || len(kept) == 0 {
			t.Errorf("%s is empty (%v)", dir, err)
		}
	}
	if r.findings.list[0].violation.Reproduced.Failed == 0 {
		t.Errorf("the violation of %s did not come back", properties.Fail)
	}
}

// The trial of a chain is reported when those of its cells have been tried, which
// take its logs away.
func TestAFailedChainKeepsItsLogs(t *testing.T) {
	s := borrow(t)
	r := prepared(t, s, find(t, "send-inside-transaction").Target)
	out, err := r.visitChain(t.Context(), 0, chainOf(t, r, `app.0/postgres "commit"`))
	if err != nil || out.failed == nil {
		t.Fatalf("the chain of a target that makes ghosts did not fail: %v", err)
	}
	if _, err := r.try(t.Context(), 0, parse(t, oneOrder)); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadDir(out.failed.logs); err != nil || len(kept) == 0 {
		t.Errorf("the logs are gone: %v", err)
	}
}

// A chain that does not drain proves nothing, and is kept up to where it stood: it
// is looked into when none of its cells fails by itself.
func TestAChainThatDoesNotDrainIsSuspect(t *testing.T) {
	s := borrow(t)
	r := prepared(t, s, find(t, "mark-before-publish").Target)
	out, err := r.visitChain(t.Context(), 0, chainOf(t, r, `relay.0/postgres "commit"`))
	if err != nil || out.suspect == nil {
		t.Fatalf("no chain is suspect: %v", err)
	}
	v, err := r.try(t.Context(), 0, *out.suspect)
	if err != nil || v.judgement.Verdict != properties.Fail {
		t.Errorf("the suspect chain is %s, want the loss proven: %v", v.judgement.Verdict, err)
	}
}
