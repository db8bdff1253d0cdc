package harness

import (
	"context"
	"testing"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
)

// undecided is a job whose first trials show that the harness met a problem.
type undecided struct {
	executor
	times int
	n     int
}

func (j *undecided) Run(ctx context.Context, s scenario.Scenario, b *properties.Baseline) (trial.Outcome, error) {
	out, err := j.executor.Run(ctx, s, b)
	if j.n++; j.n <= j.times && err == nil {
		last := len(out.History) - 1
		problem := properties.Event{Seq: last + 1, At: out.History[last].At, Kind: properties.KindProblem, Problem: "the machine was busy"}
		end := out.History[last]
		end.Seq++
		out.History = append(out.History[:last:last], problem, end)
	}
	return out, err
}

// TestABusyMomentDoesNotCostTheFaultFreeRun: a fault-free run without a verdict is
// executed once more, and only once.
func TestABusyMomentDoesNotCostTheFaultFreeRun(t *testing.T) {
	session := borrow(t)
	for times, earned := range []bool{true, true, false} {
		r := prepared(t, session, withRelays(reference(t), 1))
		r.options.Orders = 1
		j := &undecided{executor: r.jobs[0], times: times}
		r.jobs = []executor{j}
		if err := r.record(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.earned != earned {
			t.Errorf("%d undecided trials at first: earned %t, want %t", times, r.earned, earned)
		}
		if want := len(r.recordings) + min(times, 1); j.n != want {
			t.Errorf("%d undecided trials at first: %d trials, want %d", times, j.n, want)
		}
	}
}
