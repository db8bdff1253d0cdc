package report

import (
	"testing"

	"github.com/outboxtest/outboxtest/properties"
)

// The best reproduced is told first, whichever shard found it.
func TestMergeTellsTheBestReproducedFirst(t *testing.T) {
	var parts []Result
	for i, n := range []Reproduced{{1, 3}, {0, 2}, {1, 1}, {3, 3}} {
		fault := string(rune('a' + i))
		parts = append(parts, Result{Target: "x", Verdict: properties.Fail, Shard: &Shard{i + 1, 4},
			Properties: []Property{{Name: "p", Claimed: true, Verdict: properties.Fail, Violations: []Violation{{Fault: fault, Reproduced: n}}}}})
	}
	out, err := Merge(parts, []string{"1", "2", "3", "4"})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, v := range out.Properties[0].Violations {
		got += v.Fault
	}
	if got != "dcab" {
		t.Errorf("told in the order %s, want dcab", got)
	}
}
