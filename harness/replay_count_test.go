package harness

import (
	"fmt"
	"slices"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
)

// A replay tells of every execution: how many came to which verdict, the worst
// judgement, and why those that are unknown are, each cause once.
func TestAReplayTellsWhyOthersAreUnknown(t *testing.T) {
	history := func(n int) []properties.Event { return []properties.Event{{Seq: n}} }
	unknown := func(why string, rest ...string) properties.Judgement {
		return properties.Judgement{Verdict: properties.UnknownResult, Why: rest, Results: []properties.Result{
			{Property: properties.AppliedOnce, Claimed: true, Verdict: properties.UnknownResult, Why: []string{why}},
			{Property: properties.WritesSurviveBrokerOutages, Verdict: properties.UnknownResult, Why: []string{"what is not claimed"}},
		}}
	}
	var r Replayed
	for i, j := range []properties.Judgement{
		{Verdict: properties.Pass},
		unknown("o1 is not there"),
		{Verdict: properties.Fail},
		unknown("o2 is not there", "the fault did not fire"),
		{Verdict: properties.Pass},
		{Verdict: properties.Fail},
	} {
		r.count(j, history(i+1))
	}
	if r.Runs != 6 || r.Failed != 2 || r.Passed != 2 || r.Unknown != 2 {
		t.Errorf("%+v", r)
	}
	if r.Judgement.Verdict != properties.Fail || r.History[0].Seq != 3 || r.FirstUnknown[0].Seq != 2 {
		t.Errorf("judged is %v: %s; the first unknown one is %v", r.History, r.Judgement.Verdict, r.FirstUnknown)
	}
	want := []string{"applied-once: o1 is not there (and 1 more like this, of other orders or trials)", "the fault did not fire"}
	if !slices.Equal(r.Why, want) {
		t.Errorf("told %q, want %q", r.Why, want)
	}
	for i := range 30 {
		r.count(unknown("cause "+string(rune('A'+i))+fmt.Sprint(i)), history(7+i))
	}
	if len(r.Why) != mostReasons+1 {
		t.Errorf("%d reasons are told", len(r.Why))
	}
}
