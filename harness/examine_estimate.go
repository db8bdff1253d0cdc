package harness

import (
	"runtime"
	"time"

	"github.com/outboxtest/outboxtest/harness/diagnosis"
	"github.com/outboxtest/outboxtest/harness/search"
)

// Estimate is how long a sweep will take, about.
type Estimate struct {
	// Cells are those of the recorded runs that a sweep visits, in so many Trials:
	// some share one. Second faults come to them, which only the sweep shows.
	Cells  int `json:"cells"`
	Trials int `json:"trials"`
	// Jobs is how many trials run side by side.
	Jobs int `json:"jobs"`
	// Least counts with as many processors as jobs, Most with those of this machine.
	Least time.Duration `json:"least_ns"`
	Most  time.Duration `json:"most_ns"`
}

// estimate counts the cells of the recorded runs, and what their trials will take: a
// trial of its own takes what a recorded one took and another start of what is killed;
// a chain takes one start, and for each cell an order, and a start.
func estimate(r *run, pace diagnosis.Pace) *Estimate {
	o := search.Options{Faults: r.options.Faults, Points: r.options.Points}
	var cells []search.Cell
	for _, rec := range r.recordings {
		some, _ := search.Cells(rec, o)
		cells = append(cells, some...)
	}
	search.Likeliest(cells)
	alone := map[string]bool{}
	for _, c := range r.firsts(cells) {
		alone[c.String()] = true
	}
	list := errands(cells, r.options.Chain, alone)
	start := time.Duration(0)
	for _, d := range pace.Starts {
		start = max(start, d)
	}
	total := time.Duration(0)
	for _, e := range list {
		total += pace.Trial
		if len(e) == 1 {
			total += start
			continue
		}
		total += time.Duration(len(e)) * (pace.Order*3/2 + start)
	}
	e := &Estimate{Cells: len(cells), Trials: len(list), Jobs: r.options.Jobs}
	e.Least = total / time.Duration(e.Jobs)
	e.Most = total / time.Duration(max(1, min(e.Jobs, runtime.NumCPU())))
	return e
}
