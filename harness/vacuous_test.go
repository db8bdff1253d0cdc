package harness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// vacuous are targets of which a fault-free run shows too little to judge them:
// each would pass a harness that only looks for violations.
var vacuous = []struct {
	name string
	// variation names the target; empty is polling.
	variation string
	vary      func(*targets.Target, *Session)
	// why must be told, each.
	why []string
}{
	{"the committed query returns nothing", "", func(t *targets.Target, _ *Session) { t.Committed = `SELECT ref, id FROM orders WHERE false` },
		[]string{"the committed ledger is empty", "committed query"}},
	{"the committed query returns another column", "", func(t *targets.Target, _ *Session) { t.Committed = `SELECT customer FROM orders` },
		[]string{"o1 was answered ok and is in no committed reading: the committed query does not find it"}},
	{"the committed query returns its columns the wrong way round", "", func(t *targets.Target, _ *Session) { t.Committed = `SELECT id, ref FROM orders` },
		[]string{"o1 was answered ok and is in no committed reading: the committed query does not find it"}},
	{"the order rule looks for another field", "", func(t *targets.Target, _ *Session) { t.Event.Order = "body:$.ref" },
		[]string{"could not be read", "looked for body:$.ref"}},
	{"the id rule looks for another header", "", func(t *targets.Target, _ *Session) { t.Event.ID = "header:Event-Identifier" },
		[]string{"looked for header:Event-Identifier"}},
	{"the id rule finds what other events have too", "", func(t *targets.Target, _ *Session) { t.Event.ID = "body:$.customer" },
		[]string{"the manifest's id rule"}},
	{"no message is an event", "", func(t *targets.Target, _ *Session) { t.Event.When = "body:$.type == Order" },
		[]string{"the when rule of the manifest leaves all"}},
	{"the relay connects to Postgres past its proxy", "", func(t *targets.Target, s *Session) {
		t.Relay.Env = map[string]string{targets.EnvPostgresURL: directPostgres(s)}
	}, []string{"came past the proxies", "nothing passed between the relay and the postgres proxy"}},
	{"the relay connects to the broker past its proxy", "", func(t *targets.Target, s *Session) {
		t.Relay.Env = map[string]string{targets.EnvBrokerURL: directBroker(s)}
	}, []string{"came past the proxies", "nothing passed between the relay and the broker proxy", "was published past the proxies"}},
	{"the app connects to Postgres past its proxy", "", func(t *targets.Target, s *Session) {
		t.App.Env = map[string]string{targets.EnvPostgresURL: directPostgres(s)}
	}, []string{"came past the proxies", "nothing passed between the app and the postgres proxy"}},
	{"the consumer connects to the broker past its proxy", "", func(t *targets.Target, s *Session) {
		t.Consumer.Env = map[string]string{targets.EnvBrokerURL: directBroker(s)}
	}, []string{"came past the proxies", "nothing passed between the consumer and the broker proxy"}},
	{"the app writes past its proxy and is gone before anyone looks", "app-connects-past-the-proxy-for-a-moment", func(t *targets.Target, s *Session) {
		t.App.Env = map[string]string{directVariable: directPostgres(s)}
	}, []string{"past the prox"}},
	{"the relay never runs", "relay-sleeps", nil,
		[]string{"nothing passed between the relay and the postgres proxy", "nothing passed between the relay and the broker proxy"}},
	{"the consumer applies nothing", "consumer-applies-nothing", nil,
		[]string{"kitchen applied nothing", "billing applied nothing"}},
	{"the applied query names other consumers", "", func(t *targets.Target, _ *Session) {
		t.Consumer.Applied = `SELECT event_id, 'the ' || consumer, count(*) FROM effects GROUP BY 1, 2`
	}, []string{`names the consumer "the kitchen", which the manifest does not`}},
	{"the applied query finds no effects", "", func(t *targets.Target, _ *Session) {
		t.Consumer.Applied = `SELECT event_id, consumer, count(*) FROM effects WHERE false GROUP BY 1, 2`
	}, []string{"kitchen applied nothing"}},
	{"the applied query returns another id", "", func(t *targets.Target, _ *Session) {
		t.Consumer.Applied = `SELECT order_ref, consumer, count(*) FROM effects GROUP BY 1, 2`
	}, []string{"event ids that are not in the log"}},
}

// The addresses of a session's servers themselves.
func directPostgres(s *Session) string {
	user, password := s.stacks[0].Postgres.Credentials()
	return fmt.Sprintf("postgres://%s:%s@%s/{{.Postgres.Database}}?sslmode=disable", user, password, s.stacks[0].Postgres.Addr())
}

func directBroker(s *Session) string { return s.stacks[0].Broker.URL(s.stacks[0].Broker.Addr()) }

func TestVacuousPassesAreUnknown(t *testing.T) {
	for _, c := range vacuous {
		t.Run(c.name, func(t *testing.T) {
			s := borrow(t)
			target := reference(t)
			if c.variation != "" {
				target = variation(t, c.variation)
			}
			if c.vary != nil {
				consumer := *target.Consumer
				target.Consumer = &consumer
				c.vary(&target, s)
			}
			sc := parse(t, "workload:\n  - place: {order: o1, customer: c1}\n  - place: {order: o2, customer: c1}\n")
			v := attempt(t, s, target, sc, 1)[0]
			if v.judgement.Verdict != properties.UnknownResult {
				t.Errorf("the verdict is %s, want unknown", v.judgement.Verdict)
			}
			for _, word := range c.why {
				if !strings.Contains(strings.Join(v.reasons(), "\n"), word) {
					t.Errorf("nothing says %q", word)
				}
			}
			if t.Failed() {
				t.Log(v.told())
			}
		})
	}
}

// What a fault-free run cannot earn ends the run: no cell of it means anything.
func TestRunEndsAtWhatIsNotEarned(t *testing.T) {
	s := borrow(t)
	target := reference(t)
	target.Committed = `SELECT ref, id FROM orders WHERE false`
	result, err := s.Run(t.Context(), target, Options{Out: t.TempDir(), Orders: 1})
	if err != nil {
		t.Fatal(err)
	}
	why := strings.Join(result.Why, "\n")
	if result.Verdict != properties.UnknownResult || !strings.Contains(why, "the committed ledger is empty") {
		t.Errorf("%s, %s", result.Verdict, why)
	}
	if result.Points.Total != 0 || result.Trials != 2*3 {
		t.Errorf("%d trials for %d cells, want the three recorded runs alone, each once more", result.Trials, result.Points.Total)
	}
}
