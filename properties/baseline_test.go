package properties

import (
	"maps"
	"testing"
)

func TestBaselineIsOfAnEarnedPass(t *testing.T) {
	b := BaselineOf(complete("o1", "o2").end())
	if b == nil || !maps.Equal(b.Events, map[string]int{"o1": 1, "o2": 1}) {
		t.Errorf("the baseline of a complete run is %+v", b)
	}
	for name, h := range map[string][]Event{
		"nothing":           nil,
		"faults":            struck(killMark, "o1").place("o1").relay("o1").apply("o1").killRelay().drain(BasisComplete).end(),
		"a lost event":      begin("o1").place("o1").drain(BasisPendingZero).end(),
		"a history cut off": complete("o1").end()[:5],
	} {
		if b := BaselineOf(h); b != nil {
			t.Errorf("%s: the baseline is %+v, want none", name, b)
		}
	}
}
