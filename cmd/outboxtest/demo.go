package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

func (a *app) demo() *cobra.Command {
	var f flags
	var only []string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "The main job on built-in targets: a reference passes, its mutants are caught",
		Long: `demo starts the servers and tests the polling outbox and its mutants, or those
built-in targets that --only names (outboxtest list has them), with one order. A
reference is swept in full and must pass. A mutant has one seeded bug, runs under a neutral name, and
must be caught by the property named for it; it is done at its first violation
that a replay confirms. Each row ends with the line that replays it.

Exit status 0 says that everything came as expected.`,
		Example: `  outboxtest demo
  outboxtest demo --only polling,save-then-send
  outboxtest demo --only cdc,slot-made-anew
  outboxtest demo --json demo.json`,
		Args: args(cobra.NoArgs),
	}
	f.servers(cmd)
	f.machine(cmd)
	cmd.Flags().StringSliceVar(&only, "only", nil, "only these `TARGETS`, with commas between their names")
	cmd.RunE = a.does(func(cmd *cobra.Command, _ []string) (properties.Verdict, error) { return a.demonstrate(cmd, f, only) })
	return cmd
}

// demoOrders keeps the demonstration short: the sweep of one order
// is as full as that of the three of run, and has half as many cells.
const demoOrders = 1

func (a *app) demonstrate(cmd *cobra.Command, f flags, only []string) (properties.Verdict, error) {
	o, err := f.options(a, cmd)
	if err != nil {
		return "", err
	}
	list, err := choose(only)
	if err != nil {
		return "", err
	}
	out, err := a.output(f.json)
	if err != nil {
		return "", err
	}
	demo := report.Demo{Version: report.Version}
	begin := time.Now()
	if err := report.WriteDemoHead(out.text, out.color); err != nil {
		return "", err
	}
	err = a.session(cmd.Context(), o, func(s *harness.Session) error {
		for _, b := range list {
			result, err := a.demonstrateOne(cmd.Context(), s, b, o)
			if err != nil {
				return err
			}
			demo.Targets = append(demo.Targets, result)
			a.meter.clear()
			if err := report.WriteDemoRow(out.text, result, out.color); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	demo.Seconds = time.Since(begin).Seconds()
	demo.Judge()
	return demo.Verdict, untold(report.WriteDemoSum(out.text, demo, out.color), out.object(demo))
}

func (a *app) demonstrateOne(ctx context.Context, s *harness.Session, b builtin.Builtin, o harness.Options) (harness.Result, error) {
	o.Progress = a.meter.of(b.Name)
	o.Orders = demoOrders
	o.StopAtFirst = b.Expected != ""
	result, err := s.Run(ctx, b.Target, o)
	if err != nil {
		return result, err
	}
	result.Expected = properties.Pass
	if b.Expected != "" {
		result.Expected, result.ExpectedProperty = properties.Fail, b.Expected
	}
	result.CaughtBy = report.CaughtBy(result)
	return result, nil
}

// demoFamily is what the demonstration shows unless it is asked for others.
const demoFamily = "polling"

// choose returns the built-in targets of these names, in the order of the list;
// those of one family when there are no names.
func choose(names []string) ([]builtin.Builtin, error) {
	all := builtin.All()
	if names == nil {
		return slices.DeleteFunc(all, func(b builtin.Builtin) bool { return b.Family != demoFamily }), nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !slices.Contains(builtinNames(), name) {
			return nil, badInput("--only: %q is no built-in target; there are %s", name, strings.Join(builtinNames(), ", "))
		}
		wanted[name] = true
	}
	if len(wanted) == 0 {
		return nil, badInput("--only names no target; there are %s", strings.Join(builtinNames(), ", "))
	}
	return slices.DeleteFunc(all, func(b builtin.Builtin) bool { return !wanted[b.Name] }), nil
}
