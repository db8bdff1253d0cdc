package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/properties"
)

func (a *app) check() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge recorded histories again, without servers",
		Long: `check reads histories that trials wrote (.jsonl) and says what every property
says of them, with the evidence. It needs no server and no target. With several
files the worst verdict decides the exit status.

HISTORY is a file, or - for standard input.`,
		Example: `  outboxtest check .outboxtest/failures/save-then-send-no-lost-event-1.jsonl
  outboxtest check .outboxtest/failures/*.jsonl`,
		Args: args(cobra.MinimumNArgs(1)),
	}
	cmd.RunE = a.does(func(_ *cobra.Command, args []string) (properties.Verdict, error) { return a.checkAll(args) })
	return cmd
}

func (a *app) checkAll(paths []string) (properties.Verdict, error) {
	worst := properties.Pass
	for _, path := range paths {
		h, err := a.history(path)
		if err != nil {
			return "", err
		}
		j := properties.Judge(h)
		worst = worst.Worse(j.Verdict)
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s: %s\n", path, j.Verdict)
		tellJudgement(&b, j)
		if _, err := a.out.Write(b.Bytes()); err != nil {
			return "", fmt.Errorf("write the verdict: %w", err)
		}
	}
	return worst, nil
}

func (a *app) history(path string) ([]properties.Event, error) {
	in := io.NopCloser(a.in)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, badInput("read a history: %w", err)
		}
		in = file
	}
	defer in.Close()
	h, err := properties.Read(in)
	if err != nil {
		return nil, badInput("%s: %w", path, err)
	}
	return h, nil
}
