package harness

import (
	"slices"
	"testing"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
)

// What comes back most surely is told first, whatever the number of its file.
func TestTheBestReproducedViolationIsToldFirst(t *testing.T) {
	r := prepared(t, borrow(t), reference(t))
	f := r.findings
	f.order, f.claimed["p"], f.verdict["p"] = []string{"p"}, true, properties.Fail
	for _, x := range []struct {
		file         string
		failed, runs int
	}{{"1", 1, 3}, {"2", 0, 1}, {"3", 1, 1}, {"4", 3, 3}, {"5", 2, 3}} {
		f.list = append(f.list, &finding{property: "p", violation: &report.Violation{Scenario: x.file, Reproduced: report.Reproduced{Failed: x.failed, Runs: x.runs}}})
	}
	var got []string
	for _, v := range r.result(0).Properties[0].Violations {
		got = append(got, v.Scenario)
	}
	if want := []string{"4", "3", "5", "1", "2"}; !slices.Equal(got, want) {
		t.Errorf("told in the order %v, want %v", got, want)
	}
}
