package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
)

// A budget that the fault-free runs spend is told plainly: no cell is begun, none
// is passed, and what explores has its own time.
func TestASpentBudgetIsUnknown(t *testing.T) {
	s := borrow(t)
	r, err := s.Run(t.Context(), reference(t), Options{
		Out: t.TempDir(), Orders: 1, Points: "relay.0/broker", Budget: time.Nanosecond, ExploreTrials: 1, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != properties.UnknownResult || r.Points.Exercised != 0 || r.Points.Total == 0 {
		t.Errorf("%s: %+v", r.Verdict, r.Points)
	}
	planned := r.Points.Total - r.Points.NotApplicable
	if want := []report.LeftOut{{Reason: report.ReasonBudget, Cells: planned}}; !slices.Equal(r.NotTried, want) {
		t.Errorf("not tried: %v, want %v", r.NotTried, want)
	}
	if why := strings.Join(report.Reasons(r), "\n"); !strings.Contains(why, "spent before the first cell") || !strings.Contains(why, report.ReasonBudget) {
		t.Errorf("nothing says so: %s", why)
	}
	if r.Explored == nil || r.Explored.Trials != 1 {
		t.Errorf("explored %+v", r.Explored)
	}
}

func TestBudget(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name string
		b    budget
		want bool
	}{
		{"none", newBudget(0, now.Add(-time.Hour)), false},
		{"left", newBudget(time.Hour, now), false},
		{"spent", newBudget(time.Minute, now.Add(-time.Hour)), true},
	} {
		if got := c.b.spent(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
