package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/whole"
	"github.com/outboxtest/outboxtest/properties"
)

// keptReplay is what came of a replay, with the files of the histories that are
// kept of it.
type keptReplay struct {
	harness.Replayed
	// Judged is the history that the judgement is of, and Unknown that of the
	// first trial that is unknown, where that is another one.
	Judged  string `json:"history"`
	Unknown string `json:"unknown_history,omitempty"`
}

// tally says how many replays came to which verdict: failed 20 of 20.
func tally(r harness.Replayed) string {
	var parts []string
	for _, n := range []struct {
		verdict string
		count   int
	}{{"failed", r.Failed}, {"unknown", r.Unknown}, {"passed", r.Passed}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d of %d", n.verdict, n.count, r.Runs))
		}
	}
	return strings.Join(parts, ", ")
}

// tellReplayed writes the worst judgement, why others are unknown, and where the
// histories are. Of one that is unknown itself the judgement says why.
func tellReplayed(b *bytes.Buffer, r keptReplay) {
	tellJudgement(b, r.Judgement)
	if r.Replayed.Unknown > 1 || r.Unknown != "" {
		for _, line := range report.Unknown(r.Replayed.Unknown, r.Runs, r.Why) {
			fmt.Fprintln(b, line)
		}
	}
	if r.Judged != "" {
		fmt.Fprintf(b, "judge this history again: outboxtest check %s\n", r.Judged)
	}
	if r.Unknown != "" {
		fmt.Fprintf(b, "judge the first unknown one again: outboxtest check %s\n", r.Unknown)
	}
}

// keepReplayed writes the histories of a replay under out. Those of the replay
// before it of the same file, or of a line, are overwritten, or removed. After an
// error it returns those that are there.
func keepReplayed(out, what string, r harness.Replayed) (kept keptReplay, err error) {
	name := "one-line"
	if !isLine(what) {
		name = strings.TrimSuffix(filepath.Base(what), filepath.Ext(what))
	}
	kept.Replayed = r
	if kept.Judged, err = keep(out, name, r.History); err != nil {
		return kept, err
	}
	unknown := name + "-unknown"
	if r.Unknown > 0 && r.Judgement.Verdict != properties.UnknownResult {
		kept.Unknown, err = keep(out, unknown, r.FirstUnknown)
		return kept, err
	}
	if err := os.Remove(replayPath(out, unknown)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return kept, fmt.Errorf("remove the history of an earlier replay: %w", err)
	}
	return kept, nil
}

func replayPath(out, name string) string { return filepath.Join(out, "replays", name+".jsonl") }

// keep writes the history of a replay under out, and returns its path.
func keep(out, name string, history []properties.Event) (string, error) {
	kept := replayPath(out, name)
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return "", fmt.Errorf("make the folder for histories of replays: %w", err)
	}
	if err := whole.File(kept, func(w io.Writer) error { return properties.Write(w, history) }); err != nil {
		return "", fmt.Errorf("keep the history of a replay: %w", err)
	}
	return kept, nil
}
