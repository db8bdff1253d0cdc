package harness

import (
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
)

// Of two violations of one trial, a run that stops at the first shrinks the one
// that ends it, and says of the other that it was not, and what does it.
func TestWhatEndsTheRunIsShrunkAndTheOtherSaysThatItIsNot(t *testing.T) {
	r := prepared(t, borrow(t), find(t, "save-then-send").Target)
	r.options.StopAtFirst = true
	v, err := r.try(t.Context(), 0, parse(t, faulted(threeOrders, at(`app.0/postgres "commit" #3 unanswered`, "kill"))))
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
	if err := r.take(t.Context(), 0, v, "stepwise"); err != nil {
		t.Fatal(err)
	}
	if !r.stopped() {
		t.Error("the run goes on")
	}
	for _, p := range r.result(0).Properties {
		for _, x := range p.Violations {
			told := strings.Join(strings.Fields(strings.Join(report.Details(x), " ")), " ")
			says := strings.Contains(told, report.ReasonStopped+"; run it again without --stop-at-first to have it shrunk")
			if p.Name == "another" && (x.Unshrunk != report.ReasonStopped || !says) || p.Name != "another" && (x.Unshrunk != "" || says || x.Shrunk == nil) {
				t.Errorf("%s: %q, shrunk %+v:\n%s", p.Name, x.Unshrunk, x.Shrunk, told)
			}
		}
	}
}

// The other jobs leave the violation that ends the run the time to be shrunk.
func TestJobsWaitUntilTheLastViolationIsShrunk(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	result, err := s.Run(t.Context(), find(t, "save-then-send").Target, Options{
		Out: t.TempDir(), Orders: 3, Faults: []faults.Kind{faults.Kill}, Points: "app.0/", StopAtFirst: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	shrunk := 0
	for _, p := range result.Properties {
		for _, v := range p.Violations {
			if v.Shrunk != nil {
				shrunk++
			} else if v.Unshrunk == "" {
				t.Errorf("%s is not shrunk, and nothing says so: %+v", v.Fault, v.Reproduced)
			}
		}
	}
	if shrunk == 0 {
		t.Errorf("no violation is shrunk: %+v", result.Properties)
	}
}
