package harness

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/harness/trial"
)

// What a smaller scenario may cost, in calls and in time: a try that loses an
// event without the manifest's pending takes ten times the promise. Of a cell of
// the sweep only the orders can be too many. Several faults, random scenarios
// and chains are worth more: nobody knows which part of them matters.
const (
	cellCalls = 16
	cellTime  = 10 * time.Second

	scenarioCalls = 100
	scenarioTime  = time.Minute
)

// fewOrders is a workload that takes no shrinking.
const fewOrders = 2

// fewKeeps is how many holds and drops need no looking for fewer.
const fewKeeps = 2

// shrinker asks the target whether smaller scenarios violate a property.
type shrinker struct {
	run      *run
	worker   int
	property string
	// only are the scenarios worth a try.
	only  func(scenario.Scenario) bool
	most  int // calls
	end   time.Time
	calls int
	// schedule: the violation takes one, which holds and drops keep. Keeps is how
	// many the last scenario had that was found failing.
	schedule bool
	keeps    int
	// times is how often a scenario must fail to be taken, where nothing keeps a
	// schedule.
	times int
	// sound are the workloads, with the number of relays, that do not violate the
	// property without faults.
	sound map[string]bool
}

// errEnough ends a search for a smaller scenario whose bounds are spent.
var errEnough = errors.New("the bounds are spent")

// newShrinker decides how a violation is shrunk; nil when that is not worth it.
func (r *run) newShrinker(worker int, property string, v visit) *shrinker {
	k := &shrinker{run: r, worker: worker, property: property, most: scenarioCalls, end: time.Now().Add(scenarioTime), times: 2, sound: map[string]bool{}}
	of := v.scenario
	k.keeps = keeps(of)
	k.schedule = holds(of) > 0 || v.random && k.keeps > 0
	k.only = func(scenario.Scenario) bool { return true }
	if struck := size(of).Faults - holds(of); !v.random && len(of.Segments) == 0 && struck <= 1 && k.keeps <= fewKeeps {
		if size(of).Orders <= fewOrders {
			return nil
		}
		// Without a fault the recorded run itself fails. Who wants to know no more
		// than that does not wait for less.
		if struck == 0 && r.options.StopAtFirst {
			return nil
		}
		k.most, k.end, k.times, k.only = cellCalls, time.Now().Add(cellTime), 1, sameButOrders(of)
	}
	if r.earned {
		for _, rec := range r.recordings {
			k.sound[k.calmKey(rec.Run.Scenario)] = true
		}
	}
	return k
}

// sameButOrders keeps what a cell of the sweep is: its fault, whatever its
// occurrence, the pace and the number of relays.
func sameButOrders(of scenario.Scenario) func(scenario.Scenario) bool {
	drops := func(s scenario.Scenario) (n int) {
		for _, f := range s.Faults {
			n += len(f.Drop)
		}
		return n
	}
	return func(s scenario.Scenario) bool {
		return kindOfPoint(s) == kindOfPoint(of) && drops(s) == drops(of) && s.Pace == of.Pace && s.Replicas == of.Replicas
	}
}

// shrink looks for the smallest scenario that violates the property as the trial
// does, and reports whether it has looked at all there are within its bounds.
func (k *shrinker) shrink(ctx context.Context, v visit, order string) (smallest scenario.Scenario, complete bool, err error) {
	smallest = v.scenario
	for _, s := range leaps(v.scenario, order) {
		fails, err := k.fails(ctx, s)
		if errors.Is(err, errEnough) {
			return smallest, false, nil
		}
		if err != nil {
			return smallest, false, err
		}
		if fails {
			smallest = s
			break
		}
	}
	// The bounds are the oracle's: what it refuses without a trial costs nothing.
	out, err := search.Shrink(ctx, smallest, k.fails, search.ShrinkOptions{Calls: math.MaxInt, History: v.history})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out.Scenario, out.Complete, err
}

// fails executes a scenario until it is sure: a race must not pass for a bug
// that always comes.
func (k *shrinker) fails(ctx context.Context, s scenario.Scenario) (bool, error) {
	if !k.only(s) || fits(s, k.run.target) != nil {
		return false, nil
	}
	calm := len(s.AllFaults()) == 0
	if calm && k.sound[k.calmKey(s)] {
		return false, nil
	}
	if k.calls == k.most || time.Now().After(k.end) {
		return false, errEnough
	}
	k.calls++
	if !calm {
		if err := k.learn(ctx, s.Calm()); err != nil {
			return false, err
		}
	}
	for range k.timesFailed(s) {
		v, err := k.try(ctx, s)
		if err != nil || !v.fired() || !violates(v.judgement, k.property) {
			if calm && err == nil {
				k.sound[k.calmKey(s)] = true
			}
			return false, err
		}
	}
	k.keeps = keeps(s)
	return true, nil
}

// timesFailed is how often a scenario must fail, one time after another, to be
// taken for smaller. Holds stand for a schedule, which may come by itself: that
// it comes without one of them, luck must not show.
func (k *shrinker) timesFailed(s scenario.Scenario) int {
	switch {
	case !k.schedule:
		return k.times
	case keeps(s) < k.keeps:
		return holdProof
	}
	return holdReplays
}

// learn executes a new workload without faults, to compare with.
func (k *shrinker) learn(ctx context.Context, calm scenario.Scenario) error {
	known := false
	k.run.findings.lock(func() { known = k.run.baselines[workloadOf(calm)] != nil })
	if known || k.sound[k.calmKey(calm)] {
		return nil
	}
	v, err := k.try(ctx, calm)
	if err != nil {
		return err
	}
	k.run.learn(v)
	k.sound[k.calmKey(calm)] = !violates(v.judgement, k.property)
	return nil
}

// try executes a scenario once. A target that cannot carry it out does not
// violate the property.
func (k *shrinker) try(ctx context.Context, s scenario.Scenario) (visit, error) {
	v, err := k.run.try(ctx, k.worker, s)
	var wrong *trial.TargetError
	if errors.As(err, &wrong) && ctx.Err() == nil {
		return visit{scenario: s}, nil
	}
	return v, err
}

func (k *shrinker) calmKey(s scenario.Scenario) string {
	return fmt.Sprint(k.run.target.Relays(s.Replicas), " ", workloadOf(s.Calm()))
}

// holds counts the faults that only keep a schedule.
func holds(s scenario.Scenario) (n int) {
	for _, f := range s.AllFaults() {
		if f.Do == faults.Hold {
			n++
		}
	}
	return n
}

// keeps counts what keeps a schedule: the holds, and what faults drop.
func keeps(s scenario.Scenario) int {
	n := holds(s)
	for _, f := range s.AllFaults() {
		n += len(f.Drop)
	}
	return n
}

// leaps are the scenario with one step of its workload alone, where that is much
// less: the step of the violated order, and the first. Most bugs need no more,
// and it saves the way there step by step.
func leaps(s scenario.Scenario, order string) (list []scenario.Scenario) {
	if size(s).Orders <= fewOrders || len(s.Segments) > 0 || len(s.Workload) == 1 {
		return nil
	}
	for i, step := range s.Workload {
		if i > 0 && !step.Has(order) {
			continue
		}
		alone := s
		alone.Workload = []scenario.Step{step}
		alone.Faults = firstOccurrences(s.Faults)
		if step.Has(order) {
			list = slices.Insert(list, 0, alone)
		} else {
			list = append(list, alone)
		}
	}
	return list
}

// firstOccurrences are the faults at the first occurrences of their exchanges.
func firstOccurrences(of []faults.Fault) []faults.Fault {
	list := slices.Clone(of)
	for i, f := range list {
		for _, p := range []**faults.Point{&f.At, &f.Until} {
			if *p != nil {
				first := **p
				first.N = 1
				*p = &first
			}
		}
		f.Drop = slices.Clone(f.Drop)
		for j := range f.Drop {
			f.Drop[j].N = 1
		}
		list[i] = f
	}
	return list
}

// size counts what a scenario is made of.
func size(s scenario.Scenario) report.Size {
	placed, aborted := s.Orders()
	return report.Size{Orders: len(placed) + len(aborted), Faults: len(s.AllFaults())}
}
