package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/properties"
)

// The first trial that is unknown is kept beside the one that failed, and told
// with the reasons; nothing of it is left by the next replay that has none.
func TestAReplayKeepsItsFirstUnknownTrial(t *testing.T) {
	out := t.TempDir()
	failed, unknown := recorded(t, "lost-pending-zero"), recorded(t, "missing-and-unhealthy")
	mixed := harness.Replayed{
		Runs: 5, Failed: 2, Unknown: 3, Why: []string{"no-lost-event: a reason (and 2 more like this, of other orders or trials)"},
		Judgement: properties.Judge(failed), History: failed, FirstUnknown: unknown,
	}
	const judgeIt = "judge the first unknown one again: outboxtest check "
	path := filepath.Join(out, "replays", "mine-unknown.jsonl")

	kept, text := told(t, out, mixed)
	for _, line := range []string{
		"  unknown 3 of 5:\n    " + mixed.Why[0][:40], "judge this history again: outboxtest check " + filepath.Join(out, "replays", "mine.jsonl") + "\n", judgeIt + path + "\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if verdict := verdictOf(t, kept.Judged); verdict != properties.Fail {
		t.Errorf("the history that is kept is judged %s", verdict)
	}
	if verdict := verdictOf(t, path); verdict != properties.UnknownResult {
		t.Errorf("the history of the unknown trial is judged %s", verdict)
	}
	var b bytes.Buffer
	if err := (output{json: &b}).object(kept); err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(b.Bytes(), &object); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"runs": 5.0, "failed": 2.0, "passed": 0.0, "unknown": 3.0, "history": kept.Judged, "unknown_history": path,
	} {
		if object[key] != want {
			t.Errorf("%s is %v, want %v", key, object[key], want)
		}
	}
	if why, _ := object["why"].([]any); len(why) != 1 || object["judgement"] == nil {
		t.Errorf("it says %s", b.String())
	}

	// A judgement that is unknown itself is of the first unknown trial.
	alone := harness.Replayed{Runs: 1, Unknown: 1, Why: []string{"a reason"}, Judgement: properties.Judge(unknown), History: unknown, FirstUnknown: unknown}
	if kept, text = told(t, out, alone); kept.Unknown != "" || strings.Contains(text, judgeIt) || strings.Contains(text, "unknown 1 of 1") {
		t.Errorf("it is told twice, or kept as %q:\n%s", kept.Unknown, text)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the replay before has kept is left: %v", err)
	}
	alone.Runs, alone.Passed, alone.Unknown = 4, 2, 2
	if _, text = told(t, out, alone); !strings.Contains(text, "  unknown 2 of 4:\n    a reason\n") {
		t.Errorf("nothing of the other unknown one in\n%s", text)
	}
}

func told(t *testing.T, out string, r harness.Replayed) (keptReplay, string) {
	t.Helper()
	kept, err := keepReplayed(out, "a/mine.yaml", r)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	tellReplayed(&b, kept)
	return kept, b.String()
}

func recorded(t *testing.T, name string) []properties.Event {
	t.Helper()
	return read(t, filepath.Join("../../properties/testdata", name+".jsonl"))
}

func verdictOf(t *testing.T, path string) properties.Verdict {
	t.Helper()
	return properties.Judge(read(t, path)).Verdict
}

func read(t *testing.T, path string) []properties.Event {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := properties.Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return h
}
