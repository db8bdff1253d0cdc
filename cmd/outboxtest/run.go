package main

import (
	"errors"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/properties"
)

// runFlags are the flags of run alone.
type runFlags struct {
	flags
	orders        int
	faults        []string
	points        string
	depth         int
	chain         int
	budget        time.Duration
	shard         string
	explore       time.Duration
	exploreTrials int
	seed          uint64
	replays       int
	stop          bool
	sweep         bool
}

func (a *app) runTarget() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run TARGET",
		Short: "Sweep a target: a manifest file, or a built-in's name",
		Long: `run records fault-free runs of a target, then repeats them with a fault at every
point that they show, and judges each trial. A violation is replayed before it
is reported, and comes with its evidence and the file that replays it.

A fault that did not strike, and a cell that had no turn within --budget, leave
the verdict unknown: coverage is part of the result. DIR/coverage.txt (--out) shows
every cell, and docs/coverage.md says what they are. --shard I/N takes one part of
them, the same on every machine; outboxtest merge joins the parts.

TARGET is the path of a manifest (docs/manifest.md), or the name of a built-in
target (outboxtest list).`,
		Example: `  outboxtest run my-outbox.yaml
  outboxtest run save-then-send --json result.json
  outboxtest run my-outbox.yaml --faults kill --points 'relay.0/postgres "commit"'
  outboxtest run my-outbox.yaml --budget 10m
  outboxtest run my-outbox.yaml --shard 1/4 --out shard-1
  outboxtest run my-outbox.yaml --explore 5m
  outboxtest run polling --sweep=false --explore-trials 1000 --seed 1`,
		Args: args(cobra.ExactArgs(1)),
	}
	f.servers(cmd)
	f.machine(cmd)
	set := cmd.Flags()
	set.IntVar(&f.orders, "orders", 3, "place `N` orders in a recorded run, at most 1000")
	set.StringSliceVar(&f.faults, "faults", []string{"kill", "cut", "hold"}, "sweep these `KINDS` of fault: kill, cut, hang, hold")
	set.StringVar(&f.points, "points", "", "sweep only the points that contain `TEXT`, such as relay.0/broker")
	set.IntVar(&f.depth, "depth", harness.DepthPublish, "strike at depth `N`: 1 is once in a trial, 2 once more while the target recovers from every kind of fault, 0 the latter only after a broken publish")
	set.IntVar(&f.chain, "chain", 0, "let at most `N` cells share a trial, one after another on the same processes (default 16); 1 starts everything anew for each cell")
	set.DurationVar(&f.budget, "budget", 0, "begin no new cell after this long (`DURATION`, such as 10m); the likeliest cells come first, and what had no turn makes the verdict unknown")
	set.StringVar(&f.shard, "shard", "", "take the `I/N`-th part of the cells, such as 1/4; outboxtest merge joins the parts")
	set.DurationVar(&f.explore, "explore", 0, "then try random scenarios for this long (`DURATION`, such as 5m)")
	set.IntVar(&f.exploreTrials, "explore-trials", 0, "try `N` random scenarios at most; alone, exactly so many")
	set.Uint64Var(&f.seed, "seed", 0, "draw the random scenarios from seed `N` (default: a new one, which the report tells)")
	set.BoolVar(&f.stop, "stop-at-first", false, "end the run at the first violation that comes back in every replay; others that were found by then are not shrunk")
	set.IntVar(&f.replays, "replays", 0, "replay a violation `N` times, at most 1000, before it is reported; 0: three times, and once when one of its property came back every time")
	set.BoolVar(&f.sweep, "sweep", true, "sweep the points; --sweep=false leaves the fault-free runs and what explores: give --explore or --explore-trials")
	cmd.RunE = a.does(func(cmd *cobra.Command, args []string) (properties.Verdict, error) { return a.runOne(cmd, args[0], f) })
	return cmd
}

func (a *app) runOne(cmd *cobra.Command, name string, f runFlags) (properties.Verdict, error) {
	o, err := f.runOptions(a, cmd)
	if err != nil {
		return "", err
	}
	target, err := findTarget(name)
	if err != nil {
		return "", err
	}
	out, err := a.output(f.json)
	if err != nil {
		return "", err
	}
	if err := forget(o.Out); err != nil {
		return "", err
	}
	o.Progress = a.meter.of(target.Ref)
	var result harness.Result
	err = a.session(cmd.Context(), o, func(s *harness.Session) error {
		result, err = s.Run(cmd.Context(), target, o)
		return err
	})
	a.meter.clear()
	if err != nil && !worthTelling(result, err) {
		return "", err
	}
	// What was found before an interruption, or an error, is not lost.
	told := tell(o.Out, out, result)
	if err == nil {
		return result.Verdict, told
	}
	return result.Verdict, errors.Join(err, told)
}

// worthTelling reports whether a run that ended with an error has judged
// anything before. A command line that makes no sense has not begun one.
func worthTelling(r harness.Result, err error) bool {
	var input *harness.InputError
	return len(r.Properties) > 0 && (r.Verdict == properties.Fail || !errors.As(err, &input))
}

func (f *runFlags) runOptions(a *app, cmd *cobra.Command) (harness.Options, error) {
	o, err := f.options(a, cmd)
	if err != nil {
		return o, err
	}
	if err := errors.Join(
		within("--orders", f.orders, 1, mostOrders, whyOrders),
		within("--replays", f.replays, 0, mostReplays, whyTimes),
		within("--explore-trials", f.exploreTrials, 0, math.MaxInt, ""),
	); err != nil {
		return o, err
	}
	if f.chain < 0 || cmd.Flags().Changed("chain") && f.chain == 0 {
		return o, badInput("--chain %d: give a number from 1", f.chain)
	}
	if f.depth < harness.DepthPublish || f.depth > harness.DepthPairs {
		return o, badInput("--depth %d: give 0, 1 or 2", f.depth)
	}
	if f.budget < 0 || f.budget == 0 && cmd.Flags().Changed("budget") {
		return o, badInput("--budget %v: give a time, such as 10m, or leave it out for no bound", f.budget)
	}
	if f.shard != "" || cmd.Flags().Changed("shard") {
		if o.Shard, err = harness.ParseShard(f.shard); err != nil {
			return o, badInput("--shard: %w", err)
		}
	}
	if f.explore < 0 {
		return o, badInput("--explore %v: give a time that is not negative, such as 5m", f.explore)
	}
	if len(f.faults) == 0 {
		return o, badInput("--faults names no fault: use kill, cut, hang or hold, with commas between them")
	}
	for _, name := range f.faults {
		kind := faults.Kind(strings.TrimSpace(name))
		switch kind {
		case faults.Kill, faults.Cut, faults.Hang, faults.Hold:
			o.Faults = append(o.Faults, kind)
		default:
			return o, badInput("--faults %s: %q is no fault that can be swept: use kill, cut, hang or hold, with commas between them", strings.Join(f.faults, ","), name)
		}
	}
	if !f.sweep {
		for _, flag := range []string{"faults", "points", "depth", "chain", "budget"} {
			if cmd.Flags().Changed(flag) {
				what := "chooses what is swept"
				if flag == "budget" {
					what = "is of the sweep"
				}
				return o, badInput("--%s %s, and --sweep=false sweeps nothing: leave one of them out", flag, what)
			}
		}
	}
	if !f.sweep && f.explore == 0 && f.exploreTrials == 0 {
		return o, badInput("--sweep=false leaves nothing to do: add --explore 5m or --explore-trials 1000, or leave it out")
	}
	o.Depth, o.Budget, o.Chain = f.depth, f.budget, f.chain
	o.Orders, o.Points, o.Explore, o.ExploreTrials = f.orders, f.points, f.explore, f.exploreTrials
	o.Seed, o.Replays, o.SkipSweep, o.StopAtFirst = f.seed, f.replays, !f.sweep, f.stop
	return o, nil
}
