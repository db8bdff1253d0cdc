package harness

import (
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/search"
)

// An exchange that the recorded run had and the next has not is the schedule's
// choice; one that every run has and that a fault could not strike is unreached.
func TestAnExchangeByChanceIsNotApplicable(t *testing.T) {
	s := borrow(t)
	r := prepared(t, s, reference(t))
	r.options.Orders = 1
	if err := r.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	var cells []search.Cell
	for _, point := range []string{`relay.0/broker "publish" #9 before`, `relay.0/broker "publish" #1 before`} {
		c := cellAt(t, search.RunStepwise, point, faults.Fault{Do: faults.Cut})
		c.Scenario = r.recordings[0].Run.Scenario
		c.Scenario.Faults = []faults.Fault{c.Fault}
		cells = append(cells, c)
	}
	for i, want := range []bool{true, false} {
		if got, err := r.byChance(t.Context(), 0, cells[i]); err != nil || got != want {
			t.Errorf("%s: %v, %v", cells[i], got, err)
		}
	}
	r.coverage = newCoverage()
	r.coverage.plan(cells[0])
	w := &walk{run: r, phase: "sweep", total: 1, after: func(search.Cell, visit) {}}
	if _, err := w.alone(t.Context(), 0, cells[0]); err != nil {
		t.Fatal(err)
	}
	row := r.coverage.matrix("")[0]
	if got := row.Cells[0]; got.Status != report.NotApplicable || got.Reason != search.ReasonSchedule {
		t.Errorf("the cell is %s: %s", got.Status, got.Reason)
	}
	if report.ReasonSchedule != search.ReasonSchedule {
		t.Error("a joined result says it in other words")
	}
	if told := r.findings.other.told(); len(told) > 0 {
		t.Errorf("the verdict is unknown: %v", told)
	}
}
