package harness

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
)

// replicasExplored is the largest number of relays that a random scenario
// starts when the target sets no limit.
const replicasExplored = 3

// explore executes random scenarios until the time or the number asked for is
// reached. The draws aim at what the sweep has not visited, so the scenarios of
// one seed are the same for the same recordings and the same visited kinds of
// cells: the same options give both, unless the sweep was cut short by its budget
// or could not reach a cell. How many there are may depend on the time.
func (r *run) explore(ctx context.Context) error {
	replicas := max(1, r.target.Relays(replicasExplored))
	space := search.NewSpace(r.shape(), r.recordings, replicas, r.options.Faults)
	if space.Empty() {
		return &InputError{"there is nothing to explore: the recorded runs show no exchange"}
	}
	if r.coverage != nil {
		space = space.Visited(r.coverage.visited())
	}
	most := r.options.ExploreTrials
	if most == 0 {
		most = math.MaxInt
	}
	// The time bounds the drawing, not the trials under way.
	drawing := ctx
	if r.options.Explore > 0 {
		var cancel context.CancelFunc
		drawing, cancel = context.WithTimeout(ctx, r.options.Explore)
		defer cancel()
	}
	r.explored = &report.Explored{}
	return search.Each(ctx, len(r.jobs), upTo(most), func(ctx context.Context, worker, i int) error {
		if drawing.Err() != nil {
			return cmp.Or(ctx.Err(), search.ErrStop)
		}
		if shard := r.options.Shard; shard.Of > 0 && i%shard.Of != shard.Index-1 {
			return nil
		}
		s := space.Draw(r.options.Seed, i)
		v, err := r.try(ctx, worker, s)
		if err != nil {
			return fmt.Errorf("random scenario %d of seed %d: %w", i, r.options.Seed, err)
		}
		v.random = true
		struck := v.struck()
		r.findings.lock(func() {
			r.explored.Trials++
			r.explored.Faults += len(s.Faults)
			r.explored.Struck += struck
			if struck < len(s.Faults) {
				r.explored.Partly++
			}
		})
		// A random fault may find nothing to strike. The trial is then judged
		// for violations, and is counted as partly exercised, not as passed.
		if struck == len(s.Faults) || v.trouble != nil || v.judgement.Verdict == properties.Fail {
			if err := r.take(ctx, worker, v, fmt.Sprintf("random scenario %d of seed %d", i, r.options.Seed)); err != nil {
				return err
			}
		}
		r.findings.lock(func() { r.progress("explore", r.explored.Trials, r.options.ExploreTrials) })
		return r.stop()
	})
}

func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}
