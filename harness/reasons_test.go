package harness

import (
	"fmt"
	"slices"
	"testing"
)

func TestReasonsTellEachCauseOnceAndCountTheRest(t *testing.T) {
	var r reasons
	if told := (*reasons)(nil).told(); told != nil {
		t.Errorf("nothing was given, and it tells %q", told)
	}
	for _, run := range []string{"stepwise", "batch"} {
		for order := 1; order <= 3; order++ {
			r.add(run+", no fault", fmt.Sprintf("o%d is missing", order))
		}
	}
	r.add("", "the relay does not run")
	want := []string{
		"stepwise, no fault: o1 is missing (and 5 more like this, of other orders or trials)",
		"the relay does not run",
	}
	if got := r.told(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range 20 {
		r.add("stepwise", "cause "+string(rune('a'+i)))
	}
	told := r.told()
	if len(told) != mostReasons+1 || told[mostReasons] != "and 12 more" {
		t.Errorf("%d reasons, the last is %q: what is cut must be counted", len(told), told[len(told)-1])
	}
}
