package harness

import (
	"context"
	"slices"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
)

const (
	// speedOrders is the number of orders of the runs that are measured, that of
	// outboxtest run.
	speedOrders = 3
	// speedTrials is how many trials each job executes in a round.
	speedTrials = 8
)

// BenchmarkFloor compares the trials of the harness with the floor: the same
// databases, streams, processes, orders and restarts, as many side by side, and
// nothing else. "of-floor" is what the harness keeps of the floor's rate. The
// two are measured in turns, and a ratio is the median of the rounds' ratios.
func BenchmarkFloor(b *testing.B) {
	s := benchSession(b)
	r := benchPolling(b, s, speedOrders)
	f := floor{run: r, logs: b.TempDir()}
	list, after := benchErrands(b, r)
	b.Run("kill", func(b *testing.B) { f.compareCell(b, likeliest(b, list, faults.Kill)) })
	b.Run("cut", func(b *testing.B) { f.compareCell(b, likeliest(b, list, faults.Cut)) })
	b.Run("chain", func(b *testing.B) { f.compareChains(b, list) })
	b.Run("sweep", func(b *testing.B) { f.compareSweep(b, list, after) })
}

// likeliest is the likeliest cell of a kind that strikes a relay.
func likeliest(b *testing.B, list []errand, kind faults.Kind) search.Cell {
	b.Helper()
	at := slices.IndexFunc(list, func(e errand) bool {
		return len(e) == 1 && e[0].Fault.Do == kind && e[0].Fault.At.Link.Role == "relay"
	})
	if at < 0 {
		b.Fatalf("no cell of the sweep is a %s of a relay", kind)
	}
	return list[at][0]
}

// compareCell compares trials of one cell.
func (f floor) compareCell(b *testing.B, c search.Cell) {
	r := f.run.anew()
	trials := make([]search.Cell, speedTrials*len(r.jobs))
	for i := range trials {
		trials[i] = c
	}
	b.Logf("%d times %s", len(trials), c)
	f.compare(b, func() float64 {
		took := sideBySide(b, r, trials, func(ctx context.Context, worker int, c search.Cell) error {
			return f.play(ctx, worker, c.Scenario)
		})
		return float64(len(trials)) / took.Seconds()
	}, func() float64 {
		took := sideBySide(b, r, trials, func(ctx context.Context, worker int, c search.Cell) error {
			_, err := benchVisit(ctx, b, r, worker, c)
			return err
		})
		return float64(len(trials)) / took.Seconds()
	})
}

// compareChains compares one chain of the sweep for each job, or as many as it
// has.
func (f floor) compareChains(b *testing.B, list []errand) {
	r := f.run.anew()
	var chains []errand
	cells := 0
	for _, e := range list {
		if len(e) > 1 && len(chains) < len(r.jobs) {
			chains = append(chains, e)
			cells += len(e)
		}
	}
	if len(chains) == 0 {
		b.Fatal("no cells of the sweep are chained")
	}
	b.Logf("%d chains of %d cells", len(chains), cells)
	f.compare(b, func() float64 {
		took := sideBySide(b, r, chains, func(ctx context.Context, worker int, e errand) error {
			return f.play(ctx, worker, e.scenario())
		})
		return float64(cells) / took.Seconds()
	}, func() float64 {
		took := sideBySide(b, r, chains, func(ctx context.Context, worker int, e errand) error {
			out, err := r.visitChain(ctx, worker, e)
			// What breaks the chain is visited alone, as in a sweep.
			for _, c := range out.rest {
				if err == nil {
					_, err = benchVisit(ctx, b, r, worker, c)
				}
			}
			return err
		})
		return float64(cells) / took.Seconds()
	})
}

// compareSweep compares the whole sweep, second faults included.
func (f floor) compareSweep(b *testing.B, list []errand, after *seconds) {
	var scenarios []scenario.Scenario
	cells, restarts := 0, 0
	add := func(e errand) {
		s := e.scenario()
		scenarios = append(scenarios, s)
		cells += len(e)
		for _, f := range s.AllFaults() {
			if f.Do == faults.Kill {
				restarts++
			}
		}
	}
	for _, e := range list {
		add(e)
	}
	// What the second faults are is known when the first ones have been visited.
	first := f.run.anew()
	firsts := slices.DeleteFunc(slices.Clone(list), func(e errand) bool { return len(e) > 1 || !after.firsts[e[0].String()] })
	sideBySide(b, first, firsts, func(ctx context.Context, worker int, e errand) error {
		v, err := benchVisit(ctx, b, first, worker, e[0])
		first.findings.lock(func() { after.after(e[0], v) })
		return err
	})
	for _, e := range errands(after.cells, 1, nil) {
		add(e)
	}
	b.Logf("the floor of %d cells: %d databases, %d restarts", cells, len(scenarios), restarts)
	f.compare(b, func() float64 {
		return float64(cells) / sideBySide(b, f.run, scenarios, f.play).Seconds()
	}, func() float64 {
		n, took := benchSweep(b, f.run.anew())
		if n != cells {
			b.Logf("the sweep visited %d cells", n)
		}
		return float64(n) / took.Seconds()
	})
}

// scenario is what an errand's trial executes.
func (e errand) scenario() scenario.Scenario {
	if len(e) > 1 {
		return search.Chain(e).Scenario
	}
	return e[0].Scenario
}

// compare measures both sides in turns.
func (f floor) compare(b *testing.B, lower, harness func() float64) {
	b.Helper()
	b.ResetTimer()
	rates := inTurns(benchRounds(b), lower, harness)
	b.StopTimer()
	ratios := quotients(rates[1], rates[0])
	b.ReportMetric(0, "ns/op") // how long it was measured is no result
	b.ReportMetric(medianOf(rates[0]), "floor-cells/s")
	b.ReportMetric(medianOf(rates[1]), "cells/s")
	b.ReportMetric(medianOf(ratios), "of-floor")
	b.Logf("of-floor in each round: %.2f", ratios)
}
