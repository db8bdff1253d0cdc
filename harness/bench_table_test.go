package harness

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// searchRow is what the searches for one mutant came to.
type searchRow struct {
	name, code string
	calm       string // the fault-free run that convicts it
	budget     int
	spent      []spent
}

// of are the searches of one strategy.
func (r searchRow) of(strategy int) []spent {
	return slices.DeleteFunc(slices.Clone(r.spent), func(s spent) bool { return s.strategy != strategy })
}

func trialsOf(s spent) float64  { return float64(s.trials) }
func secondsOf(s spent) float64 { return s.took.Seconds() }

// missed counts the searches of a strategy that found nothing.
func (r searchRow) missed(strategy int) (missed, of int) {
	list := r.of(strategy)
	for _, s := range list {
		if !s.found {
			missed++
		}
	}
	return missed, len(list)
}

// ratio is the median of a strategy's trials to that of the sweep's; at least so
// much when not exact, and not ok when there is none to compare with.
func (r searchRow) ratio(strategy int) (ratio float64, exact, ok bool) {
	if r.calm != "" {
		return 0, false, false
	}
	sweep, ok := middle(r.of(bySweep), trialsOf)
	other, exact := middle(r.of(strategy), trialsOf)
	return other / sweep, exact, ok
}

// report gives the medians to the benchmark.
func (r searchRow) report(b *testing.B) {
	b.ReportMetric(0, "ns/op") // the searches have their own units
	for strategy, name := range strategyNames {
		if r.calm != "" {
			b.ReportMetric(0, name+"-trials")
			continue
		}
		trials, _ := middle(r.of(strategy), trialsOf)
		b.ReportMetric(trials, name+"-trials")
		missed, _ := r.missed(strategy)
		b.ReportMetric(float64(missed), name+"-missed")
	}
	if ratio, _, ok := r.ratio(byClock); ok {
		b.ReportMetric(ratio, "clock/sweep")
	}
}

// searchTable collects the rows.
type searchTable struct{ rows []searchRow }

// set adds a row, in place of an earlier one of the same mutant.
func (t *searchTable) set(row searchRow) {
	t.rows = slices.DeleteFunc(t.rows, func(r searchRow) bool { return r.name == row.name })
	t.rows = append(t.rows, row)
}

func (t searchTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Trials to the first violation, median; in brackets the seconds; after it the searches that found nothing, if any.\n")
	fmt.Fprintf(&b, "%-34s %-10s %7s", "mutant", "runs as", "budget")
	for _, name := range strategyNames {
		fmt.Fprintf(&b, "  %-24s", name)
	}
	fmt.Fprintf(&b, "  %s", "clock/sweep")
	for _, r := range t.rows {
		fmt.Fprintf(&b, "\n%-34s %-10s", r.name, r.code)
		if r.calm != "" {
			fmt.Fprintf(&b, " %7d  0 trials for all: the fault-free %s run convicts it", 0, r.calm)
			continue
		}
		fmt.Fprintf(&b, " %7d", r.budget)
		for strategy := range strategyNames {
			fmt.Fprintf(&b, "  %-24s", r.cell(strategy))
		}
		if ratio, exact, ok := r.ratio(byClock); ok {
			fmt.Fprintf(&b, "  %s", bounded(ratio, exact, "%.1f"))
		}
	}
	b.WriteString("\n" + t.sum())
	return b.String()
}

// cell is one strategy's part of a row.
func (r searchRow) cell(strategy int) string {
	list := r.of(strategy)
	trials, exact := middle(list, trialsOf)
	seconds, _ := middle(list, secondsOf)
	text := fmt.Sprintf("%s (%s s)", bounded(trials, exact, "%.4g"), bounded(seconds, exact, "%.1f"))
	if missed, of := r.missed(strategy); missed > 0 {
		text += fmt.Sprintf(" %d/%d", missed, of)
	}
	return text
}

// bounded marks a number that is only the least that it can be.
func bounded(n float64, exact bool, format string) string {
	text := fmt.Sprintf(format, n)
	if !exact {
		text = ">" + text
	}
	return text
}

// sum tells, over the mutants that need a fault, how the strategies compare to
// the sweep.
func (t searchTable) sum() string {
	var b strings.Builder
	for strategy := byShuffle; strategy < strategies; strategy++ {
		var ratios []float64
		exact := true
		missed, searches, mutants, unfired, trials := 0, 0, 0, 0, 0
		for _, r := range t.rows {
			ratio, known, ok := r.ratio(strategy)
			if !ok {
				continue
			}
			ratios, exact = append(ratios, ratio), exact && known
			m, of := r.missed(strategy)
			missed, searches = missed+m, searches+of
			if m == of {
				mutants++
			}
			for _, s := range r.of(strategy) {
				unfired, trials = unfired+s.unfired, trials+s.trials
			}
		}
		if len(ratios) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s: %s times the trials of the sweep (median over %d mutants); %d of %d searches found nothing, for %d mutants none found it; of %d trials %d struck nothing\n",
			strategyNames[strategy], bounded(medianOf(ratios), exact, "%.1f"), len(ratios), missed, searches, mutants, trials, unfired)
	}
	return b.String()
}

// save writes the table to a file, if one is named.
func (t searchTable) save(path string) error {
	if path == "" {
		return nil
	}
	if err := os.WriteFile(path, []byte(t.String()), 0o644); err != nil {
		return fmt.Errorf("keep the table: %w", err)
	}
	return nil
}
