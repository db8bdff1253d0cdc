package harness

import (
	"context"
	"fmt"
	"sync"

	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
)

// calmRuns is how many more fault-free runs tell whether an exchange comes every
// time.
const calmRuns = 5

// calms are more recordings of the fault-free runs, made when a fault finds
// nothing to strike. The zero value is ready, for all jobs together.
type calms struct {
	mu  sync.Mutex
	all map[string][]search.Recording // by the name of the run
}

// byChance reports whether the exchange that a cell strikes is the schedule's
// choice: one fault-free run has it and another has not, as when two relays share
// what one of them took alone before.
func (r *run) byChance(ctx context.Context, worker int, c search.Cell) (bool, error) {
	at := -1
	for i, rec := range r.recordings {
		if rec.Run.Name == c.Run {
			at = i
		}
	}
	if at < 0 {
		return false, nil
	}
	r.calms.mu.Lock()
	defer r.calms.mu.Unlock()
	for i := range calmRuns {
		if i == len(r.calms.all[c.Run]) {
			run := r.recordings[at].Run
			v, err := r.try(ctx, worker, run.Scenario)
			if err != nil {
				return false, fmt.Errorf("the fault-free %s run again: %w", run.Name, err)
			}
			if v.judgement.Verdict != properties.Pass || v.violates() {
				// What it shows is not the run that was recorded, and counts as itself.
				return false, r.take(ctx, worker, v, run.Name)
			}
			if r.calms.all == nil {
				r.calms.all = map[string][]search.Recording{}
			}
			r.calms.all[c.Run] = append(r.calms.all[c.Run], search.Recording{Run: run, History: v.history})
		}
		if !r.calms.all[c.Run][i].Shows(c.Fault) {
			return true, nil
		}
	}
	return false, nil
}
