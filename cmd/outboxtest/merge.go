package main

import (
	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
)

func (a *app) merge() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "merge PATH...",
		Short: "Join the results of shards",
		Long: `merge joins what the shards of one run found (run --shard I/N) into one result:
every cell, every violation, one verdict, one exit status. It needs no server.

All N shards must be there, each once, of the same target, flags and version of
outboxtest: else a cell may be in none of them, and the verdict is unknown and
says why. A violation in any shard is one of the whole.

PATH is the folder of a shard (its --out), or the file of its --json.`,
		Example: `  outboxtest run my-outbox.yaml --shard 1/2 --out shard-1    on one machine
  outboxtest run my-outbox.yaml --shard 2/2 --out shard-2    on another
  outboxtest merge shard-1 shard-2
  outboxtest merge shard-* --json whole.json --out whole`,
		Args: args(cobra.MinimumNArgs(1)),
	}
	f.machine(cmd)
	cmd.Flags().StringVar(&f.out, "out", "", "put the joined "+report.ResultFile+" and "+report.CoverageFile+" into `DIR` (default: nowhere)")
	cmd.RunE = a.does(func(cmd *cobra.Command, args []string) (properties.Verdict, error) {
		// Reading a pipe that nobody writes to cannot be ended from here.
		type merged struct {
			verdict properties.Verdict
			err     error
		}
		done := make(chan merged, 1)
		go func() {
			verdict, err := a.mergeAll(args, f)
			done <- merged{verdict, err}
		}()
		select {
		case m := <-done:
			return m.verdict, m.err
		case <-cmd.Context().Done():
			return "", cmd.Context().Err()
		}
	})
	return cmd
}

func (a *app) mergeAll(paths []string, f flags) (properties.Verdict, error) {
	if f.out != "" {
		if err := canTake(f.out); err != nil {
			return "", badInput("--out %s: %w; name another folder", f.out, err)
		}
	}
	out, err := a.output(f.json)
	if err != nil {
		return "", err
	}
	var parts []harness.Result
	for _, path := range paths {
		part, err := report.ReadFile(path)
		if err != nil {
			return "", &inputError{err}
		}
		parts = append(parts, part)
	}
	result, err := report.Merge(parts, paths)
	if err != nil {
		return "", &inputError{err}
	}
	return result.Verdict, tell(f.out, out, result)
}
