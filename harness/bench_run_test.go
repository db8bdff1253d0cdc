package harness

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

// The benchmarks of this room print ratios of what was measured in turns in one
// run, so that they can be compared between machines; docs/benchmarks.md says
// what each number means. Their rounds are fixed: b.N has no say.

// benchRounds is how often the benchmarks of speed measure each side.
func benchRounds(b *testing.B) int { return benchSetting(b, "OUTBOXTEST_BENCH_ROUNDS", 3) }

// benchSetting reads a number from the environment.
func benchSetting(b *testing.B, name string, usual int) int {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("%s is %q: want a number from 1, such as %d", name, text, usual)
	}
	return n
}

// benchSession is a session with as many jobs as a run has.
func benchSession(b *testing.B) *Session {
	b.Helper()
	// The context of the benchmark ends before its cleanups run.
	s, err := Open(context.Background(), Options{})
	if err != nil {
		b.Fatalf("open a session: %v", err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// benchRun is a run on all jobs of a session that has executed nothing yet.
func benchRun(b *testing.B, s *Session, target targets.Target, orders int) *run {
	b.Helper()
	options, err := Options{Out: b.TempDir(), Orders: orders}.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	target = target.WithDefaults()
	if err := target.Validate(); err != nil {
		b.Fatal(err)
	}
	jobs, err := s.jobs(b.Context(), target)
	if err != nil {
		b.Fatal(err)
	}
	return &run{session: s, target: target, options: options, jobs: jobs, findings: newFindings(), begin: time.Now()}
}

// benchPolling is a run of the reference, with its fault-free runs recorded.
func benchPolling(b *testing.B, s *Session, orders int) *run {
	b.Helper()
	reference, known := builtin.Find("polling")
	if !known {
		b.Fatal("there is no built-in target polling")
	}
	r := benchRun(b, s, reference.Target, orders)
	if err := r.record(b.Context()); err != nil {
		b.Fatal(err)
	}
	if !r.earned {
		b.Fatalf("the fault-free runs of polling are not earned: %v", r.findings.other.told())
	}
	return r
}

// anew is the run with the same recordings and without findings.
func (r *run) anew() *run {
	return &run{
		session: r.session, target: r.target, options: r.options, jobs: r.jobs, findings: newFindings(), begin: time.Now(),
		recordings: r.recordings, baselines: r.baselines, earned: r.earned,
	}
}

// benchSweep does the sweep of a run and returns how many cells it visited.
func benchSweep(b *testing.B, r *run) (cells int, took time.Duration) {
	b.Helper()
	r.findings.trials = 0
	begin := time.Now()
	if err := r.sweep(b.Context()); err != nil {
		b.Fatal(err)
	}
	took = time.Since(begin)
	if n := r.findings.count(); n > 0 {
		b.Errorf("the sweep of a reference shows %d violations", n)
	}
	return r.findings.trials, took
}

// benchErrands are what the sweep of a run does, as its jobs get it, without the
// second faults: these follow from what the first ones show.
func benchErrands(b *testing.B, r *run) (list []errand, after *seconds) {
	b.Helper()
	cells, err := r.plan()
	if err != nil {
		b.Fatal(err)
	}
	after = newSeconds(r.firsts(cells))
	return errands(cells, r.options.Chain, after.firsts), after
}

// sideBySide gives the things to the jobs of a run and returns how long all took.
func sideBySide[T any](b *testing.B, r *run, things []T, do func(ctx context.Context, worker int, thing T) error) time.Duration {
	b.Helper()
	begin := time.Now()
	if err := search.Each(b.Context(), len(r.jobs), slices.Values(things), do); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

// benchVisit executes a cell of a reference in a trial of its own, as a sweep
// does: one that comes to no verdict is told, and its time counts.
func benchVisit(ctx context.Context, b *testing.B, r *run, worker int, c search.Cell) (visit, error) {
	v, err := r.tryUntilFired(ctx, worker, c)
	switch {
	case err != nil:
		return v, fmt.Errorf("%s: %w", c, err)
	case v.judgement.Verdict == properties.Fail:
		return v, fmt.Errorf("%s: a reference fails: %s", c, v.told())
	case v.judgement.Verdict != properties.Pass || !v.fired():
		b.Logf("%s came to no verdict: %v %s", c, v.reasons(), v.whyUnfired())
	}
	return v, nil
}

// inTurns measures several ways once in each round, each round beginning with
// another, so that what else the machine does hits all alike. It returns the
// measurements of each way.
func inTurns(rounds int, ways ...func() float64) [][]float64 {
	all := make([][]float64, len(ways))
	for round := range rounds {
		for i := range ways {
			way := (round + i) % len(ways)
			all[way] = append(all[way], ways[way]())
		}
	}
	return all
}

// quotients divides round by round.
func quotients(of, by []float64) (all []float64) {
	for i := range of {
		all = append(all, of[i]/by[i])
	}
	return all
}

func medianOf(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
