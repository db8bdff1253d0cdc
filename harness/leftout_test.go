package harness

import (
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// hiding is a bug that hides where a rule leaves cells out.
type hiding struct {
	reason string
	target func(*testing.T) targets.Target
	orders int
	// points bounds both searches.
	points string
	// leftOut picks, from the cells that are left out, those of the rule.
	leftOut func(search.Cell) bool
}

// hidden are bugs that the cells of one rule show which leaves them out, for
// every rule. The cells that are visited must show each of them too.
var hidden = []hiding{
	{search.ReasonIdle, func(t *testing.T) targets.Target { return variation(t, "relay-skips-after-a-broken-poll") }, 2, "relay.0/postgres", func(c search.Cell) bool {
		return c.Fault.Do == faults.Cut && c.Fault.At.N > 1 && c.Fault.At.Label == "select outbox idle"
	}},
	{search.ReasonSetup, func(t *testing.T) targets.Target { return variation(t, "consumer-skips-after-a-broken-pull") }, 2, "consumer.0/broker", func(c search.Cell) bool {
		return c.Fault.Do == faults.Cut && c.Fault.At.N > 2 && c.Fault.At.Label == "pull" && c.Run == "stepwise"
	}},
	{search.ReasonEquivalent, func(t *testing.T) targets.Target { return find(t, "save-then-send").Target }, 1, "app.0/postgres", func(c search.Cell) bool {
		return c.Fault.Do == faults.Kill && c.Fault.At.Label == "commit" && c.Fault.At.Moment == faults.After
	}},
	{search.ReasonNext, func(t *testing.T) targets.Target { return find(t, "send-inside-transaction").Target }, 1, "app.0/postgres", func(c search.Cell) bool {
		return c.Fault.Do == faults.Cut && c.Fault.At.Label != "commit" && c.Fault.At.Moment == faults.After
	}},
	{search.ReasonBeside, func(t *testing.T) targets.Target {
		target := variation(t, "app-commits-on-two-connections")
		// The event's commit takes longer: it is under way when the order's is
		// through.
		schema(slowCommitSchema("outbox", 0.05))(&target)
		return target
	}, 1, `app.0/postgres "commit"`, func(c search.Cell) bool {
		return slices.ContainsFunc(c.Fault.Drop, func(p faults.Point) bool { return p.Link == c.Fault.At.Link })
	}},
	{search.ReasonStart, func(t *testing.T) targets.Target { return variation(t, "app-degrades-after-a-broken-start") }, 2, `app.0/postgres "connect" #1`, func(c search.Cell) bool {
		return c.Run == search.RunBatch && c.Fault.Do == faults.Cut
	}},
	{search.ReasonRelays, func(t *testing.T) targets.Target { return withRelays(find(t, "save-then-send").Target, 2) }, 1, `app.0/postgres "commit"`, func(c search.Cell) bool {
		return c.Run == search.RunReplicas
	}},
	{search.ReasonBeforeOverlap, func(t *testing.T) targets.Target { return find(t, "save-then-send").Target }, 1, `app.0/postgres "commit" #1`, func(c search.Cell) bool {
		return c.Run == search.RunOverlap
	}},
}

func withRelays(target targets.Target, n int) targets.Target {
	target.Relay.Replicas = n
	return target
}

func TestWhatIsLeftOutHidesNothing(t *testing.T) {
	for _, reason := range search.Reasons() {
		switch reason {
		case search.ReasonConvicted:
			continue // the verdict is fail already
		case search.ReasonRecovery, search.ReasonSchedule:
			continue // no rule: these cells were tried, and found nothing to strike
		}
		if !slices.ContainsFunc(hidden, func(h hiding) bool { return h.reason == reason }) {
			t.Errorf("no bug hides behind the rule: %s", reason)
		}
	}
	for _, h := range hidden {
		t.Run(h.reason, func(t *testing.T) {
			s := borrow(t)
			r := prepared(t, s, h.target(t))
			r.options.Orders = h.orders
			if err := r.record(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !r.earned {
				t.Fatalf("the fault-free runs are not earned: %v", r.findings.other.told())
			}
			visited, left := r.cells(h.points)
			left = slices.DeleteFunc(left, func(c search.Cell) bool { return !h.leftOut(c) })
			if len(left) == 0 {
				t.Fatal("the rule leaves no such cell out")
			}
			t.Logf("%d cells are visited, %d are left out", len(visited), len(left))
			if !convicts(t, r, left) {
				t.Error("the cells that are left out do not show the bug: this test shows nothing")
			}
			if !convicts(t, r, visited) {
				t.Error("the cells that are visited do not show the bug")
			}
		})
	}
}

// cells are those that a sweep visits, likeliest first, and those that it leaves
// out.
func (r *run) cells(points string) (visited, left []search.Cell) {
	seen := map[string]bool{}
	for _, rec := range r.recordings {
		some, _ := search.Cells(rec, search.Options{Points: points})
		for _, c := range some {
			seen[c.String()] = true
		}
		visited = append(visited, some...)
		all, _ := search.Cells(rec, search.Options{Points: points, Everything: true})
		left = append(left, slices.DeleteFunc(all, func(c search.Cell) bool { return seen[c.String()] })...)
	}
	search.Likeliest(visited)
	return visited, left
}

// convicts visits cells until one of them shows a violation.
func convicts(t *testing.T, r *run, cells []search.Cell) bool {
	t.Helper()
	var told []string
	for i, c := range cells {
		v, err := r.tryUntilFired(t.Context(), 0, c)
		if err != nil {
			t.Fatal(err)
		}
		if v.judgement.Verdict == properties.Fail {
			t.Logf("%v at cell %d: %s", v.violated(), i+1, c)
			return true
		}
		told = append(told, c.String()+": "+string(v.judgement.Verdict)+" "+strings.Join(v.reasons(), "; "))
	}
	t.Log(strings.Join(told, "\n"))
	return false
}

// Two transactions that begin at the same time have two names: a point finds
// each of them in every trial.
func TestBeginsThatOverlapHaveNamesOfTheirOwn(t *testing.T) {
	s := borrow(t)
	target := variation(t, "app-begins-twice")
	schema(`CREATE TABLE visits (n int)`)(&target)
	for _, point := range []string{`app.0/postgres "begin" #1 before`, `app.0/postgres "begin" #2 before`} {
		v := attempt(t, s, target, parse(t, faulted(twoOrders, at(point, "cut"))), 1)[0]
		if !v.fired() {
			t.Errorf("%s: %s", point, v.whyUnfired())
		}
	}
}
