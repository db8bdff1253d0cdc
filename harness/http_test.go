package harness

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
)

// TestRunByHTTP sweeps a right app that takes orders by HTTP, logins and aborts
// included: it passes, and every cell is exercised.
func TestRunByHTTP(t *testing.T) {
	s := borrow(t)
	result, err := s.Run(t.Context(), variation(t, "app-by-http"), Options{
		Out: t.TempDir(), Orders: 1, Depth: DepthSingle, Faults: []faults.Kind{faults.Kill}, Points: "app.",
	})
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict != properties.Pass || result.Points.Unreached != 0 || result.Points.Exercised == 0 {
		t.Errorf("%s, %+v: %v %+v", result.Verdict, result.Points, result.Why, result.Properties)
	}
}

// TestConvictionByHTTP: what an app by HTTP publishes beside its commit is lost
// with it.
func TestConvictionByHTTP(t *testing.T) {
	s := borrow(t)
	sc := parse(t, "workload:\n  - place: {order: o1, customer: c1}\n  - place: {order: o2, customer: c1}\n"+
		"faults:\n  - at: app.0/broker \"publish\" #1 before\n    do: kill\n    then: {restart: immediately}\n")
	for _, v := range attempt(t, s, variation(t, "app-by-http-publishes-in-the-handler"), sc, replays(t, 1)) {
		if !slices.Equal(v.violated(), []string{properties.NoLostEvent}) {
			t.Errorf("violated: %v, want %s; %s", v.violated(), properties.NoLostEvent, v.told())
		}
		if a := answerOf(v, "o1"); a == nil || a.Outcome != properties.Unknown {
			t.Errorf("the order of the killed app was answered %+v, want unknown", a)
		}
		if a := answerOf(v, "o2"); a == nil || a.Outcome != properties.OK {
			t.Errorf("the order after it was answered %+v, want ok", a)
		}
	}
}

func answerOf(v visit, order string) *properties.Answer {
	for _, e := range v.history {
		if e.Answer != nil && e.Answer.Order == order {
			return e.Answer
		}
	}
	return nil
}

// TestAnswersByHTTP: a fault-free trial shows how its orders ended.
func TestAnswersByHTTP(t *testing.T) {
	const workload = "workload:\n  - place: {order: o1, customer: c1}\n  - abort: {order: x1, customer: c1}\n  - place: {order: o2, customer: c2}\n"
	for _, target := range []string{"app-by-http", "app-by-http-commits-later"} {
		t.Run(target, func(t *testing.T) {
			s := borrow(t)
			v := attempt(t, s, variation(t, target), parse(t, workload), 1)[0]
			if v.judgement.Verdict != properties.Pass {
				t.Errorf("the verdict is %s; %s", v.judgement.Verdict, v.told())
			}
			later := target == "app-by-http-commits-later"
			for order, accepted := range map[string]bool{"o1": later, "x1": false, "o2": later} {
				if a := answerOf(v, order); a == nil || a.Outcome != properties.OK || a.Accepted != accepted {
					t.Errorf("%s was answered %+v; want ok, accepted to be committed later: %v", order, a, accepted)
				}
			}
			// An accepted order is answered once it is seen committed.
			committed := slices.IndexFunc(v.history, func(e properties.Event) bool {
				return e.Ledger != nil && slices.ContainsFunc(e.Ledger.Committed, func(r properties.Row) bool { return r.Order == "o1" })
			})
			answered := slices.IndexFunc(v.history, func(e properties.Event) bool { return e.Answer != nil && e.Answer.Order == "o1" })
			if later && (committed < 0 || committed > answered) {
				t.Errorf("o1 was answered in event %d and read in event %d", answered, committed)
			}
		})
	}
}

// TestAnAcceptedOrderDiesWithItsApp: its outcome is unknown, and no violation.
func TestAnAcceptedOrderDiesWithItsApp(t *testing.T) {
	s := borrow(t)
	sc := parse(t, "workload:\n  - place: {order: o1, customer: c1}\n  - place: {order: o2, customer: c1}\n"+
		"faults:\n  - at: app.0/postgres \"insert outbox\" #1 before\n    do: kill\n    then: {restart: immediately}\n")
	v := attempt(t, s, variation(t, "app-by-http-commits-later"), sc, 1)[0]
	if a := answerOf(v, "o1"); v.judgement.Verdict != properties.Pass || a == nil || a.Outcome != properties.Unknown || !a.Accepted {
		t.Errorf("%s, and o1 was answered %+v; %s", v.judgement.Verdict, a, v.told())
	}
}

// TestLateCommitByHTTP: the answer to an order whose commit is kept back comes
// when it has been let go.
func TestLateCommitByHTTP(t *testing.T) {
	s := borrow(t)
	sc := parse(t, "workload:\n  - overlap: [{order: o1, customer: c1}, {order: o2, customer: c1}]\n")
	v := attempt(t, s, variation(t, "app-by-http"), sc, 1)[0]
	if v.judgement.Verdict != properties.Pass {
		t.Errorf("the verdict is %s; %s", v.judgement.Verdict, v.told())
	}
	var answered []string
	held := false // the order's own commit, and not that of the login
	for _, e := range v.history {
		held = held || e.Wire != nil && e.Wire.Link == "app.0/postgres" && e.Wire.Label == "insert orders" && len(answered) == 0
		if e.Answer != nil {
			answered = append(answered, e.Answer.Order+" "+string(e.Answer.Outcome))
		}
	}
	if !slices.Equal(answered, []string{"o2 ok", "o1 ok"}) || !held {
		t.Errorf("answered: %v, want o2 before o1; o1 written before: %v", answered, held)
	}
}

// TestAnAppByHTTPThatTakesNoOrders is bad input, and the mend shows what it said.
func TestAnAppByHTTPThatTakesNoOrders(t *testing.T) {
	for target, want := range map[string]string{
		"app-by-http-refuses": "app.0 answered POST /orders with HTTP 503: the warehouse is closed, postgres://",
		"app-by-http-closes":  "app.0 gave no answer to POST /orders: the connection was closed",
	} {
		t.Run(target, func(t *testing.T) {
			s := borrow(t)
			r := prepared(t, s, variation(t, target))
			_, err := r.try(t.Context(), 0, parse(t, oneOrder))
			_, password := s.stacks[0].Postgres.Credentials()
			if _, ok := errors.AsType[*trial.TargetError](err); !ok || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want a TargetError: %s", err, want)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("it shows the password: %v", err)
			}
		})
	}
}

// TestEventsInBatches: a relay may publish several events in one message.
func TestEventsInBatches(t *testing.T) {
	s := borrow(t)
	v := attempt(t, s, variation(t, "relay-publishes-batches"), parse(t, batchPace+"workload:\n  - place: {order: o1, customer: c1}\n  - place: {order: o2, customer: c1}\n"), 1)[0]
	if v.judgement.Verdict != properties.Pass {
		t.Fatalf("the verdict is %s; %s", v.judgement.Verdict, v.told())
	}
	var log []properties.Message
	together := false
	for _, e := range v.history {
		if e.Ledger != nil && e.Ledger.Name == properties.LedgerLog && e.Ledger.Final {
			log = e.Ledger.Log
		}
		together = together || e.Wire != nil && len(e.Wire.More) == 1 && e.Wire.Order == "o1" && e.Wire.More[0].Order == "o2"
	}
	if len(log) != 2 || log[0].Order != "o1" || log[1].Order != "o2" || log[1].Part != 1 || log[1].Sequence != "2" || !together {
		t.Errorf("the log is %+v, seen together on the wire: %v", log, together)
	}
}

// TestAnOrderThatNamesTwo is no guess.
func TestAnOrderThatNamesTwo(t *testing.T) {
	s := borrow(t)
	target := reference(t)
	target.Committed = `SELECT 'o1 ' || ref, id FROM orders`
	r := prepared(t, s, target)
	_, err := r.try(t.Context(), 0, parse(t, "workload:\n  - place: {order: o1, customer: c1}\n  - place: {order: o2, customer: c1}\n"))
	if _, ok := errors.AsType[*trial.TargetError](err); !ok || !strings.Contains(err.Error(), `the first column of the committed query: "o1 o2" names the orders o1, o2`) {
		t.Errorf("got %v", err)
	}
}
