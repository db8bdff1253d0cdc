package harness

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

// The ways to search that are compared.
const (
	bySweep    = iota // every cell, likeliest first
	byShuffle         // every cell, in an order that a seed gives
	byMoment          // random moments of the stepwise run
	byClock           // random times, as chaos tools strike
	strategies        // how many there are
)

var strategyNames = [strategies]string{"sweep", "shuffled", "moments", "clock"}

// BenchmarkSearch compares how many trials it takes until a mutant is convicted
// by the property named for it: by the sweep in its default order, by the sweep
// shuffled, by random moments and by random times of the clock. Every trial is
// one of its own with one order, and none is repeated or replayed. A search is
// given up after as many trials as the sweep has cells.
func BenchmarkSearch(b *testing.B) {
	s := benchSession(b)
	var table searchTable
	for _, m := range builtin.All() {
		if m.Expected == "" {
			continue
		}
		b.Run(m.Name, func(b *testing.B) {
			h := newHunt(b, s, m)
			row := searchRow{name: m.Name, code: m.Code, calm: h.calm}
			if h.calm == "" {
				h.all(b, &row)
			}
			row.report(b)
			table.set(row)
			if err := table.save(os.Getenv("OUTBOXTEST_BENCH_OUT")); err != nil {
				b.Fatal(err)
			}
		})
	}
	fmt.Println(table.String())
}

// hunt is the search for the violation of one mutant.
type hunt struct {
	run    *run
	mutant builtin.Builtin
	// calm is the fault-free run that convicts the mutant; empty when none does.
	calm  string
	cells []search.Cell
	space search.Space

	mu     sync.Mutex
	budget int // trials; grows when a sweep goes on to second faults
	known  map[string]outcome
}

// outcome is what the trial of a scenario came to.
type outcome struct {
	visit visit
	took  time.Duration
}

// newHunt records the fault-free runs.
func newHunt(b *testing.B, s *Session, m builtin.Builtin) *hunt {
	b.Helper()
	const orders = 1
	h := &hunt{run: benchRun(b, s, m.Target, orders), mutant: m, known: map[string]outcome{}}
	r := h.run
	runs := search.Runs(r.shape())
	r.recordings = make([]search.Recording, len(runs))
	convicted := make([]bool, len(runs))
	places := make([]int, len(runs))
	for i := range places {
		places[i] = i
	}
	sideBySide(b, r, places, func(ctx context.Context, worker, i int) error {
		v, err := r.try(ctx, worker, runs[i].Scenario)
		if err != nil {
			return fmt.Errorf("the fault-free %s run: %w", runs[i].Name, err)
		}
		r.learn(v)
		r.recordings[i] = search.Recording{Run: runs[i], History: v.history}
		convicted[i] = violates(v.judgement, m.Expected)
		return nil
	})
	if i := slices.Index(convicted, true); i >= 0 {
		h.calm = runs[i].Name
		return h
	}
	var err error
	if h.cells, err = r.plan(); err != nil {
		b.Fatal(err)
	}
	h.budget = len(h.cells)
	h.space = search.NewSpace(r.shape(), r.recordings, max(1, r.target.Relays(replicasExplored)), r.options.Faults)
	return h
}

// spent is what one search took.
type spent struct {
	strategy int
	seed     uint64 // none for the sweep
	trials   int
	took     time.Duration
	found    bool
	unfired  int // trials whose fault found nothing to strike
}

// all does the searches, the sweeps first: these tell the budget of the others.
// The sweep depends on no seed and is done once for each job.
func (h *hunt) all(b *testing.B, row *searchRow) {
	b.Helper()
	var sweeps, others []spent
	for range h.run.jobs {
		sweeps = append(sweeps, spent{strategy: bySweep})
	}
	for seed := range benchSetting(b, "OUTBOXTEST_BENCH_SEEDS", 20) {
		for _, strategy := range []int{byClock, byMoment, byShuffle} {
			others = append(others, spent{strategy: strategy, seed: uint64(seed + 1)})
		}
	}
	for _, list := range [][]spent{sweeps, others} {
		sideBySide(b, h.run, list, func(ctx context.Context, worker int, s spent) error {
			if err := h.search(ctx, worker, &s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			row.spent = append(row.spent, s)
			row.budget = h.budget
			fmt.Fprintf(os.Stderr, "%s: %d of %d searches done; %s\n", h.mutant.Code, len(row.spent), len(sweeps)+len(others), s)
			return nil
		})
	}
}

func (s spent) String() string {
	what := "nothing found"
	if s.found {
		what = "found"
	}
	return fmt.Sprintf("%s, seed %d: %s, %d trials, %.1f s", strategyNames[s.strategy], s.seed, what, s.trials, s.took.Seconds())
}

func (h *hunt) search(ctx context.Context, worker int, s *spent) error {
	switch s.strategy {
	case bySweep:
		return h.sweep(ctx, worker, s, func(list []search.Cell) []search.Cell {
			list = slices.Clone(list)
			search.Likeliest(list)
			return list
		})
	case byShuffle:
		return h.sweep(ctx, worker, s, func(list []search.Cell) []search.Cell { return search.Shuffled(list, s.seed) })
	case byMoment:
		return h.draw(ctx, worker, s, h.space.RandomMoment)
	default:
		return h.draw(ctx, worker, s, h.space.RandomClock)
	}
}

// sweep visits the cells in an order, and then, in the same way, those of the
// second faults.
func (h *hunt) sweep(ctx context.Context, worker int, s *spent, order func([]search.Cell) []search.Cell) error {
	after := newSeconds(h.run.firsts(h.cells))
	visit := func(list []search.Cell) error {
		for _, c := range order(list) {
			v, err := h.try(ctx, worker, s, c.Scenario)
			if err != nil || s.found {
				return err
			}
			after.after(c, v)
		}
		return nil
	}
	if err := visit(h.cells); err != nil || s.found {
		return err
	}
	seconds := after.cells
	h.mu.Lock()
	h.budget = max(h.budget, len(h.cells)+len(seconds))
	h.mu.Unlock()
	return visit(seconds)
}

// draw tries one random scenario after the other.
func (h *hunt) draw(ctx context.Context, worker int, s *spent, scenario func(seed uint64, i int) scenario.Scenario) error {
	h.mu.Lock()
	budget := h.budget
	h.mu.Unlock()
	for i := range budget {
		if _, err := h.try(ctx, worker, s, scenario(s.seed, i)); err != nil || s.found {
			return err
		}
	}
	return nil
}

func (h *hunt) try(ctx context.Context, worker int, s *spent, sc scenario.Scenario) (visit, error) {
	out, err := h.outcome(ctx, worker, sc)
	if err != nil {
		return out.visit, err
	}
	s.trials++
	s.took += out.took
	s.found = violates(out.visit.judgement, h.mutant.Expected)
	if !out.visit.fired() {
		s.unfired++
	}
	return out.visit, nil
}

// outcome executes a scenario. One that names its moments is executed once for all
// searches: another that comes to it takes what it came to, and what it took. A
// time on the clock strikes elsewhere every time.
func (h *hunt) outcome(ctx context.Context, worker int, sc scenario.Scenario) (outcome, error) {
	text, err := scenario.Format(sc)
	if err != nil {
		return outcome{}, err
	}
	h.mu.Lock()
	known, ok := h.known[string(text)]
	h.mu.Unlock()
	if ok {
		return known, nil
	}
	begin := time.Now()
	v, err := h.run.try(ctx, worker, sc)
	out := outcome{v, time.Since(begin)}
	timed := slices.ContainsFunc(sc.AllFaults(), func(f faults.Fault) bool { return f.At == nil })
	if err == nil && !timed {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.known[string(text)] = out
	}
	return out, err
}

// middle is the median of the searches of a strategy by what by tells. The ones
// that found nothing are more than all others: when the median is one of those,
// it is only known to be more than the budget.
func middle(list []spent, by func(spent) float64) (median float64, known bool) {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b spent) int {
		if a.found != b.found {
			if a.found {
				return -1
			}
			return 1
		}
		return cmp.Compare(by(a), by(b))
	})
	n := len(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	return (by(low) + by(high)) / 2, high.found
}
