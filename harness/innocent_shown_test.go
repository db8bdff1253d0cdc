package harness

import (
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

const rolledBack = oneOrder + "  - abort: {order: x1, customer: c1}\n  - place: {order: o2, customer: c1}\n"

// refuse has the business refuse the orders of a customer, with an error.
const refuse = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no credit'; END $$;
	CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.customer = 'broke') EXECUTE FUNCTION refuse()`

const refused = oneOrder + "  - place: {order: x1, customer: broke}\n  - place: {order: o2, customer: c1}\n"

// shown are correct targets in states that look like a violation, with the proof
// that the trial was in that state.
var shown = []struct {
	name     string
	target   func(*testing.T) targets.Target
	scenario string
	// shows says what the history lacks; empty when it shows the state.
	shows func(visit) string
}{
	{"the business rolled the order back and its reply was lost", reference,
		faulted(rolledBack, at(`app.0/postgres "rollback" #1 unanswered`, "cut")), missing("x1")},
	{"the business rolled the order back and the app died before that arrived", reference,
		faulted(rolledBack, at(`app.0/postgres "rollback" #1 before`, "kill")), missing("x1")},
	{"the business rolled the order back while the relay died", reference,
		faulted(rolledBack, killed(`relay.0/broker "publish" #1 unanswered`, "when backends are gone")), missing("x1")},
	{"the business refused the order while the relay had no broker", refusing(reference),
		faulted(refused, `{at: 'app.0/postgres "begin" #2 before', do: hang relay.0/broker}`), missing("x1")},
	// The claim is that no order is refused because the broker is away.
	{"the business refused the order while the app had no broker", refusing(relayInApp),
		faulted(refused, `{at: 'app.0/postgres "begin" #2 before', do: hang app.0/broker}`), missing("x1")},
	{"two relays take the orders of one customer, the lower id commits later", relays(2),
		"workload:\n  - overlap: [{order: o1, customer: c1}, {order: o2, customer: c1}]\n", inOrder("o2", "o1")},
	{"a batch in flight is published again by the other relay", relays(2),
		faulted(batchPace+threeOrders, killed(`relay.*/broker "publish" #2 unanswered`, "never")), repeated},
	{"a batch in flight is published again after its last acknowledgement, by whichever relay is first", relays(2),
		faulted(batchPace+threeOrders, killed(`relay.*/broker "publish" #3 after`, "immediately")), repeated},
	{"a batch in flight is published again because its mark was lost", relays(2),
		faulted(batchPace+threeOrders, at(`relay.*/postgres "commit" #1 before`, "cut")), repeated},
}

func relays(n int) func(*testing.T) targets.Target {
	return func(t *testing.T) targets.Target { return withRelays(find(t, "polling").Target, n) }
}

func relayInApp(t *testing.T) targets.Target { return variation(t, "app-relays") }

func refusing(of func(*testing.T) targets.Target) func(*testing.T) targets.Target {
	return func(t *testing.T) targets.Target {
		target := of(t)
		schema(refuse)(&target)
		return target
	}
}

// missing: the order was asked for and is nowhere.
func missing(order string) func(visit) string {
	return func(v visit) string {
		called := slices.ContainsFunc(v.history, func(e properties.Event) bool { return e.Call != nil && e.Call.Order == order })
		kept := slices.ContainsFunc(v.history, func(e properties.Event) bool {
			return e.Ledger != nil && slices.ContainsFunc(e.Ledger.Committed, func(r properties.Row) bool { return r.Order == order })
		})
		if !called || kept {
			return order + " was to be asked for and not committed"
		}
		return ""
	}
}

// inOrder: the events came in this order.
func inOrder(orders ...string) func(visit) string {
	return func(v visit) string {
		if got := v.log(); !slices.Equal(got, orders) {
			return "the log was to hold " + strings.Join(orders, ", ") + ", and holds " + strings.Join(got, ", ")
		}
		return ""
	}
}

// repeated: some event was published more than once.
func repeated(v visit) string {
	log := v.log()
	if slices.Sort(log); len(slices.Compact(log)) == len(v.log()) {
		return "an event was to be published again, and the log holds " + strings.Join(log, ", ")
	}
	return ""
}

// log is the orders of the events in the broker's log.
func (v visit) log() []string {
	var orders []string
	for _, e := range v.history {
		if e.Ledger != nil && e.Ledger.Name == properties.LedgerLog && e.Ledger.Final {
			for _, m := range e.Ledger.Log {
				orders = append(orders, m.Order)
			}
		}
	}
	return orders
}

func TestTheInnocentAreShownAndNotConvicted(t *testing.T) {
	for _, c := range shown {
		t.Run(c.name, func(t *testing.T) {
			s := borrow(t)
			r := prepared(t, s, c.target(t))
			sc := parse(t, c.scenario)
			// Beside the same workload without faults, as every trial is.
			calm, err := r.try(t.Context(), 0, sc.Calm())
			if err != nil {
				t.Fatal(err)
			}
			if r.learn(calm); calm.judgement.Verdict != properties.Pass {
				t.Fatalf("without faults the verdict is %s, want pass:\n%s", calm.judgement.Verdict, calm.told())
			}
			for range replays(t, 1) {
				v, err := r.try(t.Context(), 0, sc)
				if err != nil {
					t.Fatal(err)
				}
				if v.judgement.Verdict != properties.Pass {
					t.Errorf("the verdict is %s, want pass:\n%s", v.judgement.Verdict, v.told())
				}
				if !v.fired() {
					t.Errorf("%d of %d faults struck: %s", v.struck(), len(v.scenario.Faults), v.whyUnfired())
				}
				if lacks := c.shows(v); lacks != "" {
					t.Error(lacks)
				}
			}
		})
	}
}
