package harness

import (
	"os"
	"slices"
	"testing"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

// Every mutant of the polling outbox is convicted by the property named for it, of an order and at a
// point; the scenario that is written fails in every replay, and the history
// convicts it again without any server.
func TestConvictionsReplay(t *testing.T) {
	for _, b := range builtin.All() {
		if b.Expected == "" || b.Family != "polling" {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			s := borrow(t)
			result, err := s.Run(t.Context(), b.Target, Options{Out: t.TempDir(), StopAtFirst: true, Orders: 2, Replays: 3})
			if err != nil {
				t.Fatal(err)
			}
			v := conviction(t, result, b.Expected)
			if v.Order == "" || v.Point == "" || len(v.Evidence) == 0 {
				t.Errorf("the violation does not say enough: %+v", v)
			}
			judgedAgain(t, v, b.Expected)

			sc, err := scenario.Load(v.Scenario)
			if err != nil {
				t.Fatal(err)
			}
			if sc.Target != b.Name {
				t.Errorf("the scenario is for %q, want %q", sc.Target, b.Name)
			}
			r := prepared(t, s, b.Target)
			calm, err := r.try(t.Context(), 0, sc.Calm())
			if err != nil {
				t.Fatal(err)
			}
			r.learn(calm)
			for i := range replays(t, 5) {
				again, err := r.try(t.Context(), 0, sc)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(again.violated(), b.Expected) {
					t.Errorf("replay %d of %s: %s, which violates %v, want %s:\n%s", i+1, v.Fault,
						again.judgement.Verdict, again.violated(), b.Expected, again.told())
				}
			}
		})
	}
}

// conviction is the result's first violation of the property that every replay
// showed again. Where a process has two connections to a server, some points
// meet a bug in one schedule and miss it in the next.
func conviction(t *testing.T, result Result, property string) report.Violation {
	t.Helper()
	if result.Verdict != properties.Fail {
		t.Fatalf("the verdict is %s, want fail: %v", result.Verdict, report.Reasons(result))
	}
	for _, p := range result.Properties {
		for _, v := range p.Violations {
			if p.Name == property && v.Reproduced.Failed == v.Reproduced.Runs {
				return v
			}
		}
	}
	t.Fatalf("%s has no violation that every replay shows: %+v", property, result.Properties)
	return report.Violation{}
}

// judgedAgain judges the history of a violation by itself.
func judgedAgain(t *testing.T, v report.Violation, property string) {
	t.Helper()
	f, err := os.Open(v.History)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	history, err := properties.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	j := properties.Judge(history)
	if j.Verdict != properties.Fail {
		t.Errorf("the history alone is judged %s, want fail", j.Verdict)
	}
	for _, r := range j.Results {
		if r.Property == property && slices.ContainsFunc(r.Violations, func(x properties.Violation) bool {
			return x.Summary == v.Summary && x.Order == v.Order && slices.Equal(x.Evidence, v.Evidence)
		}) {
			return
		}
	}
	t.Errorf("the history alone does not show that %s", v.Summary)
}
