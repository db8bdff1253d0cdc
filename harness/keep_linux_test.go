package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
)

// lossy is a run of a target that loses events, which has executed a trial that
// shows it.
func lossy(t *testing.T) (*run, visit) {
	t.Helper()
	r := prepared(t, borrow(t), find(t, "save-then-send").Target)
	r.options.Replays = 1
	sc := search.Runs(shapeOf(r.target, Options{Orders: 1}))[0].Scenario
	fault, err := faults.ParseFaults(`kill at app.0/postgres "commit" #1 unanswered`)
	if err != nil {
		t.Fatal(err)
	}
	sc.Faults = fault
	v, err := r.try(t.Context(), 0, sc)
	if err != nil {
		t.Fatal(err)
	}
	return r, v
}

// taken takes the trial, and returns its only violation.
func taken(t *testing.T, r *run, v visit) report.Violation {
	t.Helper()
	if err := r.take(t.Context(), 0, v, "stepwise"); err != nil {
		t.Fatalf("the run ended: %v", err)
	}
	result := r.result(0)
	if result.Verdict != properties.Fail {
		t.Fatalf("the verdict is %s", result.Verdict)
	}
	return conviction(t, result, properties.NoLostEvent)
}

// A violation whose files cannot be written is told all the same, with why they
// are not there and with the line that replays it.
func TestAFullDiskTakesNothingFromAViolation(t *testing.T) {
	const line = `outboxtest replay 'kill at app.0/postgres "commit" #1 unanswered' --target save-then-send --run stepwise --orders 1`
	for _, c := range []struct {
		name     string
		full     string // this file of the first finding finds no space
		scenario bool
		want     string
	}{
		{name: "folder", want: "its files could not be written: "},
		{name: "scenario", full: ".yaml", want: "the scenario could not be written to "},
		{name: "history", full: ".jsonl", scenario: true, want: "the history could not be written to "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, v := lossy(t)
			r.options.StopAtFirst = true
			failures := filepath.Join(r.options.Out, "failures")
			base := filepath.Join(failures, "save-then-send-no-lost-event-1")
			if c.full == "" {
				if err := os.WriteFile(failures, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			} else {
				if err := os.MkdirAll(failures, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink("/dev/full", base+c.full+".part"); err != nil {
					t.Fatal(err)
				}
				c.want += base + c.full + ": no space left on device"
			}
			got := taken(t, r, v)
			if !strings.Contains(got.Unkept, c.want) || (got.Scenario != "") != c.scenario || got.History != "" {
				t.Errorf("%q, want %q; scenario %q, history %q", got.Unkept, c.want, got.Scenario, got.History)
			}
			if want := map[bool]string{false: line}[c.scenario]; got.Command != want {
				t.Errorf("replayed by %q, want %q", got.Command, want)
			}
			if got.Reproduced != (report.Reproduced{Failed: 1, Runs: 1}) {
				t.Errorf("reproduced %+v", got.Reproduced)
			}
			if left, _ := filepath.Glob(base + "*.part"); len(left) > 0 {
				t.Errorf("these were left: %v", left)
			}
			if _, err := os.Stat(base + ".yaml"); (err == nil) != c.scenario {
				t.Errorf("the scenario: %v", err)
			}
		})
	}
}

// A better trial takes the place of a worse one with all of its files, or not at
// all.
func TestAFailureIsReplacedWhole(t *testing.T) {
	r, v := lossy(t)
	r.options.StopAtFirst = true
	before := taken(t, r, v)
	x := r.findings.list[0]
	if before.Unkept != "" || before.Command != "" || before.History == "" {
		t.Fatalf("%+v", before)
	}
	text, err := os.ReadFile(x.base + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	v.logs = t.TempDir() // the replays took them away
	violation, _ := violationOf(v.judgement, x.property, "")
	violation.Summary = "another one"
	if err := os.Symlink("/dev/full", x.base+".next.jsonl.part"); err != nil {
		t.Fatal(err)
	}
	if err := r.rewrite(x, v, violation); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
	if now, err := os.ReadFile(x.base + ".yaml"); err != nil || string(now) != string(text) || x.violation.Summary != before.Summary {
		t.Errorf("it is changed (%v): %s: %s", err, x.violation.Summary, now)
	}
	if err := r.rewrite(x, v, violation); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(x.base + ".yaml"); err != nil || !strings.Contains(string(now), "another one") || x.violation.Summary != "another one" {
		t.Errorf("it is not replaced (%v): %s: %s", err, x.violation.Summary, now)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(x.base), "*.next*")); len(left) > 0 {
		t.Errorf("these were left: %v", left)
	}
}
