package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// replayFlags are the flags of replay alone.
type replayFlags struct {
	flags
	times  int
	target string
	// Of a line that is no file.
	orders int
	run    string
}

func (a *app) replay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay SCENARIO",
		Short: "Run one scenario again, from a file or one line",
		Long: `replay runs one scenario, once or many times, and judges each trial. Exit
status 1 says that at least one trial failed.

SCENARIO is a file that a run wrote, or one of your own (docs/scenario.md). The
file names its target; --target tries the scenario on another one.

SCENARIO is otherwise the fault of a report on one line, several with "; then "
between them, and --target says on what. The orders are those of a recorded
run, as run places them.`,
		Example: `  outboxtest replay .outboxtest/failures/save-then-send-no-lost-event-1.yaml
  outboxtest replay late-commit.yaml --times 20
  outboxtest replay late-commit.yaml --target my-outbox.yaml
  outboxtest replay 'kill at app.0/postgres "commit" #1 unanswered' --target save-then-send`,
		Args: args(cobra.ExactArgs(1)),
	}
	f.servers(cmd)
	f.machine(cmd)
	set := cmd.Flags()
	set.IntVar(&f.times, "times", 1, "run the scenario `N` times, at most 10000")
	set.StringVar(&f.target, "target", "", "run it on `TARGET`, a built-in's name or a manifest's path, instead of the file's own")
	set.IntVar(&f.orders, "orders", 3, "place `N` orders, where SCENARIO is one line")
	set.StringVar(&f.run, "run", search.RunStepwise, "place them as the recorded run `NAME` does, where SCENARIO is one line: stepwise, replicas, batch, overlap")
	cmd.RunE = a.does(func(cmd *cobra.Command, args []string) (properties.Verdict, error) {
		return a.replayOne(cmd, args[0], f)
	})
	return cmd
}

func (a *app) replayOne(cmd *cobra.Command, what string, f replayFlags) (properties.Verdict, error) {
	o, err := f.options(a, cmd)
	if err != nil {
		return "", err
	}
	if err := errors.Join(within("--times", f.times, 1, mostTimes, whyTimes), within("--orders", f.orders, 1, mostOrders, whyOrders)); err != nil {
		return "", err
	}
	o.Orders = f.orders
	target, sc, err := f.scenario(cmd, what, o)
	if err != nil {
		return "", err
	}
	name := cmp.Or(f.target, sc.Target)
	out, err := a.output(f.json)
	if err != nil {
		return "", err
	}
	o.Jobs = fewer(o, f.times)
	o.Progress = a.meter.of(name)
	var replayed harness.Replayed
	err = a.session(cmd.Context(), o, func(s *harness.Session) error {
		replayed, err = s.Replay(cmd.Context(), target, sc, f.times, o)
		return err
	})
	if err != nil {
		return "", err
	}
	a.meter.clear()
	kept, unkept := keepReplayed(f.out, what, replayed)
	title := what
	if isLine(what) {
		title = faults.FormatFaults(sc.Faults)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s on %s: %s\n", title, name, tally(replayed))
	tellReplayed(&b, kept)
	_, printed := out.text.Write(b.Bytes())
	return replayed.Judgement.Verdict, untold(unkept, printed, out.object(kept))
}

// scenario reads what is to be replayed, and on what.
func (f *replayFlags) scenario(cmd *cobra.Command, what string, o harness.Options) (target targets.Target, sc scenario.Scenario, err error) {
	if isLine(what) {
		if _, err := faults.ParseFaults(what); err != nil {
			return target, sc, &inputError{err}
		}
		if f.target == "" {
			return target, sc, badInput("a fault on one line names no target: add --target NAME")
		}
		if target, err = findTarget(f.target); err != nil {
			return target, sc, err
		}
		sc, err = harness.OneLine(target, what, f.run, o)
		return target, sc, err
	}
	for _, flag := range []string{"orders", "run"} {
		if cmd.Flags().Changed(flag) {
			return target, sc, badInput("--%s is for a fault on one line, and %s is a file with a workload of its own: leave it out", flag, what)
		}
	}
	if sc, err = scenario.Load(what); err != nil {
		return target, sc, &inputError{err}
	}
	name := cmp.Or(f.target, sc.Target)
	if name == "" {
		return target, sc, badInput("%s names no target: add a line target: NAME to it, or give --target NAME", what)
	}
	target, err = findTarget(name)
	return target, sc, err
}

// isLine tells a fault on one line, also one with a mistake in it, from a file's
// path: it has spaces and does not end like a scenario file, or begins with the
// name of a fault, and no file is called so.
func isLine(text string) bool {
	words := strings.Fields(text)
	if len(words) == 0 {
		return false
	}
	switch ext := filepath.Ext(text); {
	case slices.Contains([]faults.Kind{faults.Kill, faults.Cut, faults.Hang, faults.Hold}, faults.Kind(words[0])):
	case len(words) == 1, ext == ".yaml", ext == ".yml":
		return false
	}
	_, err := os.Stat(text)
	return err != nil
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
