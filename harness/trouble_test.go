package harness

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// errServer is what a server that does not answer in time comes to.
var errServer = errors.New("make the trial's stream: nats: timeout")

// troubled is a job some of whose trials cannot be carried out.
type troubled struct {
	executor
	// hit decides which; n counts the trials that it was asked of.
	hit  func(s scenario.Scenario, n int) bool
	n    int
	hits int
}

func (j *troubled) Run(ctx context.Context, s scenario.Scenario, b *properties.Baseline) (trial.Outcome, error) {
	j.n++
	if j.hit(s, j.n) {
		j.hits++
		return trial.Outcome{}, errServer
	}
	return j.executor.Run(ctx, s, b)
}

// trouble lets a run's only job have trouble.
func trouble(r *run, hit func(s scenario.Scenario, n int) bool) *troubled {
	j := &troubled{executor: r.jobs[0], hit: hit}
	r.jobs = []executor{j}
	return j
}

// killsOfPublish is a run of a small sweep.
func killsOfPublish(t *testing.T, target targets.Target) *run {
	t.Helper()
	r := prepared(t, borrow(t), target)
	r.begin = time.Now()
	r.options.Orders, r.options.Faults, r.options.Points, r.options.Depth = 1, []faults.Kind{faults.Kill}, `relay.0/broker "publish" #1`, DepthSingle
	return r
}

// A trial that a server does not let come to its end is repeated. If that does not
// help, its cell is unreached and says why, and all others are visited.
func TestTroubleInATrialIsTheTrialsOwn(t *testing.T) {
	for _, c := range []struct {
		name    string
		times   int
		verdict properties.Verdict
		hits    int
	}{
		{"once", 1, properties.Pass, 1},
		{"as often as it is tried", tries, properties.UnknownResult, tries},
		{"always", 1000, properties.UnknownResult, tries},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := killsOfPublish(t, reference(t))
			n, undecided := 0, 0
			r.options.Progress = func(p Progress) { undecided = p.Undecided }
			var hit scenario.Scenario // the first one with a fault
			j := trouble(r, func(s scenario.Scenario, _ int) bool {
				if len(hit.Faults) == 0 {
					hit = s
				}
				if len(s.Faults) == 0 || !reflect.DeepEqual(s, hit) {
					return false
				}
				n++
				return n <= c.times
			})
			result, err := r.whole(t.Context())
			if err != nil {
				t.Fatalf("the run ended: %v", err)
			}
			if result.Verdict != c.verdict || j.hits != c.hits {
				t.Errorf("%s after %d trials with trouble, want %s after %d: %v", result.Verdict, j.hits, c.verdict, c.hits, report.Reasons(result))
			}
			if want := map[bool]int{false: 1}[c.verdict == properties.Pass]; undecided != want {
				t.Errorf("the progress tells of %d trials without a verdict, want %d", undecided, want)
			}
			if c.verdict == properties.Pass {
				return
			}
			if len(result.Unreached) != 1 || !strings.Contains(result.Unreached[0].Why, errServer.Error()) || result.Unreached[0].Fault != hit.Faults[0].String() {
				t.Errorf("unreached: %+v", result.Unreached)
			}
			if result.Points.Exercised == 0 || result.Points.Exercised != result.Points.Total-result.Points.NotApplicable-1 {
				t.Errorf("not all the others were exercised: %+v", result.Points)
			}
			if len(result.Why) > 0 {
				t.Errorf("it is told twice: %v", result.Why)
			}
		})
	}
}

// When not even a trial without faults can be carried out, the environment is
// gone. The run ends soon, with what it has found so far, which is no pass.
func TestAGoneEnvironmentEndsTheRun(t *testing.T) {
	r := killsOfPublish(t, reference(t))
	gone := false
	j := trouble(r, func(s scenario.Scenario, _ int) bool {
		gone = gone || len(s.AllFaults()) > 0
		return gone
	})
	result, err := r.whole(t.Context())
	if !errors.Is(err, errServer) || !strings.Contains(err.Error(), "not even one without a fault") {
		t.Errorf("it ended with %v", err)
	}
	if j.hits != tries+1 {
		t.Errorf("it took %d trials to see, want %d", j.hits, tries+1)
	}
	if result.Verdict != properties.UnknownResult || !strings.Contains(strings.Join(result.Why, "\n"), errServer.Error()) {
		t.Errorf("the verdict is %s: %v", result.Verdict, result.Why)
	}
	if len(result.NotTried) != 1 || result.NotTried[0].Reason != report.ReasonInterrupted {
		t.Errorf("not tried: %+v", result.NotTried)
	}
}

// The same on a server that dies in the middle of a run.
func TestADeadBrokerEndsTheRun(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Logf("close: %v", err) // the broker is dead
		}
	}()
	killed := false
	result, err := s.Run(t.Context(), reference(t), Options{
		Out: t.TempDir(), Orders: 1, Points: "relay.0/broker", Chain: 1,
		Progress: func(p Progress) {
			if p.Phase == "sweep" && !killed {
				killed = true
				if err := s.stacks[0].Broker.Kill(); err != nil {
					t.Error(err)
				}
			}
		},
	})
	if !killed {
		t.Fatal("the sweep did not begin")
	}
	if err == nil || !strings.Contains(err.Error(), "not even one without a fault") {
		t.Errorf("it ended with %v", err)
	}
	if result.Verdict != properties.UnknownResult || result.Points.Exercised == 0 || len(result.Unreached) > 0 {
		t.Errorf("the verdict is %s: %+v, %+v", result.Verdict, result.Points, result.Unreached)
	}
}

// A violation that was found before the end of the environment is told.
func TestTroubleHidesNoViolation(t *testing.T) {
	r := killsOfPublish(t, find(t, "mark-before-publish").Target)
	r.options.Points, r.options.Replays = `relay.0/postgres "commit" #1`, 3
	violated := false
	trouble(r, func(s scenario.Scenario, _ int) bool {
		r.findings.lock(func() { violated = violated || r.findings.count() > 0 })
		return violated
	})
	result, err := r.whole(t.Context())
	if !errors.Is(err, errServer) {
		t.Errorf("it ended with %v", err)
	}
	if result.Verdict != properties.Fail {
		t.Fatalf("the verdict is %s: %v", result.Verdict, report.Reasons(result))
	}
	for _, p := range result.Properties {
		for _, v := range p.Violations {
			if v.Reproduced.Runs != 0 || v.Scenario == "" {
				t.Errorf("%s: %+v", p.Name, v)
			}
		}
	}
}

// A replay that could not be carried out says nothing about the violation.
func TestTroubleInAReplayIsNotCounted(t *testing.T) {
	r := killsOfPublish(t, find(t, "mark-before-publish").Target)
	r.options.Points, r.options.Replays, r.options.StopAtFirst = `relay.0/postgres "commit" #1`, 3, true
	replayed := 0
	trouble(r, func(s scenario.Scenario, _ int) bool {
		found := false
		r.findings.lock(func() { found = r.findings.count() > 0 })
		if found && len(s.AllFaults()) > 0 {
			replayed++
		}
		return found && len(s.AllFaults()) > 0 && replayed <= tries
	})
	result, err := r.whole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v := conviction(t, result, "no-lost-event"); v.Reproduced != (report.Reproduced{Failed: 2, Runs: 2}) {
		t.Errorf("reproduced %+v, want 2 of 2", v.Reproduced)
	}
}

// The cells of a chain with trouble are visited alone.
func TestTroubleInAChain(t *testing.T) {
	r := prepared(t, borrow(t), reference(t))
	cells := chainOf(t, r, "relay.0/broker")
	trouble(r, func(s scenario.Scenario, _ int) bool { return len(s.Segments) > 0 && len(s.AllFaults()) > 0 })
	out, err := r.visitChain(t.Context(), 0, cells)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.visited) > 0 || len(out.rest) != len(cells) || out.suspect != nil {
		t.Errorf("visited %d, left %d of %d, suspect %v", len(out.visited), len(out.rest), len(cells), out.suspect)
	}
}

// A random scenario with trouble, and a chain that was to prove something, leave
// the run unknown.
func TestTroubleIsNeverAPass(t *testing.T) {
	r := killsOfPublish(t, reference(t))
	r.options.SkipSweep, r.options.ExploreTrials, r.options.Seed = true, 2, 1
	trouble(r, func(s scenario.Scenario, _ int) bool { return len(s.AllFaults()) > 0 })
	result, err := r.whole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict != properties.UnknownResult || !strings.Contains(strings.Join(result.Why, "\n"), errServer.Error()) {
		t.Errorf("the verdict is %s: %v", result.Verdict, result.Why)
	}
	before := len(r.findings.other.told())
	w := &walk{run: r, phase: "sweep", after: nil}
	suspect := parse(t, faulted(oneOrder, at(`relay.0/broker "publish" #7 before`, "kill")))
	if err := w.prove(t.Context(), 0, chainOf(t, prepared(t, r.session, reference(t)), "relay.0/broker"), suspect); err != nil {
		t.Fatal(err)
	}
	if told := r.findings.other.told(); len(told) == before && !strings.Contains(strings.Join(told, "\n"), "more like this") {
		t.Errorf("nothing says that the proof failed: %v", told)
	}
}
