package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
)

// The app publishes by itself and the relays start after the workload: nothing
// is left to wait for then, and the trial must still last until they were seen.
func TestTrialLastsUntilTheRelaysWereSeen(t *testing.T) {
	s := borrow(t)
	for _, v := range attempt(t, s, find(t, "save-then-send").Target, parse(t, batchPace+oneOrder), replays(t, 3)) {
		if v.judgement.Verdict != properties.Pass {
			t.Errorf("the verdict is %s, want pass: %s", v.judgement.Verdict, v.told())
		}
	}
}

// Targets that follow each other in a session do not share their logs.
func TestLogsAreOfOneTrial(t *testing.T) {
	s := borrow(t)
	sc := parse(t, oneOrder)
	first := attempt(t, s, reference(t), sc, 1)[0]
	left := filepath.Join(first.logs, "left-by-another-target.log")
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	second := attempt(t, s, reference(t), sc, 1)[0]
	if _, err := os.Stat(filepath.Join(second.logs, filepath.Base(left))); err == nil {
		t.Error("the logs of a trial hold what another target wrote")
	}
}
