package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

func (a *app) replay() *cobra.Command {
	var f flags
	var times int
	var target string
	cmd := &cobra.Command{
		Use:   "replay SCENARIO",
		Short: "Run one scenario file again",
		Long: `replay runs the scenario of a file, once or many times, and judges each trial.
The file names its target; --target tries the scenario on another one. Exit
status 1 says that at least one trial failed.

SCENARIO is a file that a run wrote, or one of your own (docs/scenario.md).`,
		Example: `  outboxtest replay .outboxtest/failures/save-then-send-no-lost-event-1.yaml
  outboxtest replay late-commit.yaml --times 20
  outboxtest replay late-commit.yaml --target my-outbox.yaml`,
		Args: args(cobra.ExactArgs(1)),
	}
	f.servers(cmd)
	f.machine(cmd)
	cmd.Flags().IntVar(&times, "times", 1, "run the scenario `N` times")
	cmd.Flags().StringVar(&target, "target", "", "run it on `TARGET`, a built-in's name or a manifest's path, instead of the file's own")
	cmd.RunE = a.does(func(cmd *cobra.Command, args []string) (properties.Verdict, error) {
		return a.replayOne(cmd, args[0], f, times, target)
	})
	return cmd
}

func (a *app) replayOne(cmd *cobra.Command, path string, f flags, times int, name string) (properties.Verdict, error) {
	o, err := f.options(a)
	if err != nil {
		return "", err
	}
	if times < 1 {
		return "", badInput("--times %d: give a number from 1", times)
	}
	sc, err := scenario.Load(path)
	if err != nil {
		return "", &inputError{err}
	}
	if name == "" {
		name = sc.Target
	}
	if name == "" {
		return "", badInput("%s names no target: add a line target: NAME to it, or give --target NAME", path)
	}
	target, err := findTarget(name)
	if err != nil {
		return "", err
	}
	out, err := a.output(f.json)
	if err != nil {
		return "", err
	}
	o.Jobs = fewer(o, times)
	o.Progress = a.meter.of(name)
	var replayed harness.Replayed
	err = a.session(cmd.Context(), o, func(s *harness.Session) error {
		replayed, err = s.Replay(cmd.Context(), target, sc, times, o)
		return err
	})
	if err != nil {
		return "", err
	}
	a.meter.clear()
	kept, err := keep(f.out, path, replayed.History)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s on %s: %s\n", path, name, tally(replayed))
	tellJudgement(&b, replayed.Judgement)
	fmt.Fprintf(&b, "judge this history again: outboxtest check %s\n", kept)
	if _, err := out.text.Write(b.Bytes()); err != nil {
		return "", err
	}
	return replayed.Judgement.Verdict, out.object(replayed)
}

// fewer spares the servers of jobs that would have nothing to do.
func fewer(o harness.Options, times int) int {
	if o.Jobs == 0 && times == 1 {
		return 1
	}
	if o.Jobs > times {
		return times
	}
	return o.Jobs
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

// keep writes the history of a replay under out, and returns its path. The
// replay before it of the same file is overwritten.
func keep(out, path string, history []properties.Event) (string, error) {
	dir := filepath.Join(out, "replays")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for histories of replays: %w", err)
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	kept := filepath.Join(dir, name+".jsonl")
	file, err := os.Create(kept)
	if err != nil {
		return "", fmt.Errorf("keep the history of a replay: %w", err)
	}
	if err := properties.Write(file, history); err != nil {
		file.Close()
		return "", fmt.Errorf("keep the history of a replay as %s: %w", kept, err)
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("keep the history of a replay: %w", err)
	}
	return kept, nil
}
