package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/harness/diagnosis"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// mistakes are wrong manifests of a right outbox, and what an examination has to say
// of each: the step that is wrong, and words of what it says, its mend, or its evidence.
var mistakes = []struct {
	name      string
	variation string // names the target; empty is polling
	vary      func(*targets.Target, *Session)
	step      string
	says      []string
}{
	{"a claim that there is not", "", func(t *targets.Target, _ *Session) { t.Name = "" }, diagnosis.Manifest, []string{"name"}},
	{"a build that fails", "", func(t *targets.Target, _ *Session) {
		t.Build = []targets.Command{{Run: []string{"sh", "-c", "echo no such symbol; exit 2"}}}
	}, diagnosis.Build, []string{"build[0]", "exited with status 2", "no such symbol", "by hand"}},
	{"SQL that Postgres does not know", "", func(t *targets.Target, _ *Session) {
		t.SchemaSQL, t.Schema.Files = append(t.SchemaSQL, "-- more\nCREATE TABEL more (id int);"), []string{"schema.sql", "more.sql"}
	}, diagnosis.Schema, []string{"more.sql:2:8", `syntax error at or near "TABEL"`, "correct the SQL"}},
	{"a migration that fails", "", func(t *targets.Target, _ *Session) {
		t.Schema.Run = []string{"sh", "-c", "echo no such column; exit 3"}
	}, diagnosis.Schema, []string{"exited with status 3", "no such column"}},
	{"an app that is not there", "", func(t *targets.Target, _ *Session) {
		t.App.Start = []string{"./no-such-service"}
	}, diagnosis.App, []string{"app.0 does not start", "no-such-service", "app.start"}},
	{"an app that ends at once", "", func(t *targets.Target, _ *Session) {
		t.App.Start = []string{"sh", "-c", "echo no port for me >&2; exit 7"}
	}, diagnosis.App, []string{"exited by itself", "status 7", "no port for me", "until it is killed"}},
	{"an app that is never ready", "", func(t *targets.Target, _ *Session) {
		t.App.Ready, t.App.ReadyWithin = targets.Ready{Get: "/up"}, 0.3
	}, diagnosis.App, []string{"not ready within 300ms", "GET /up", "connection refused", "app.ready"}},
	{"a path that the app does not serve", "app-by-http", func(t *targets.Target, _ *Session) {
		t.App.Place = slices.Clone(t.App.Place)
		t.App.Place[1].HTTP = "POST /order"
	}, diagnosis.Order, []string{"POST /order", "HTTP 404", "accepted"}},
	{"a statement that fails", "", func(t *targets.Target, _ *Session) {
		bySQL(t, `INSERT INTO order (ref) VALUES ('{{.Order}}')`)
	}, diagnosis.Order, []string{"the app refused o1", `syntax error at or near "order"`, "app.sql"}},
	{"an app with an address of its own", "", func(t *targets.Target, _ *Session) {
		t.App.Env = map[string]string{targets.EnvPostgresURL: "postgres://127.0.0.1:1/x?connect_timeout=1"}
	}, diagnosis.Order, []string{"the app refused o1", "{{.Postgres.URL}}"}},
	{"a committed query on another table", "", func(t *targets.Target, _ *Session) {
		t.SchemaSQL = append(t.SchemaSQL, "CREATE TABLE archive (ref text, id int)")
		t.Committed = `SELECT ref, id FROM archive`
	}, diagnosis.Committed, []string{"does not show o1", "reads the table archive", "the app wrote into orders, outbox", "committed returned no row"}},
	{"a committed query of another column", "", func(t *targets.Target, _ *Session) {
		t.Committed = `SELECT customer, id FROM orders`
	}, diagnosis.Committed, []string{"returns 1 row, and none names o1", "committed returned: c1 | 1", targets.UUID("o1")}},
	{"a committed query that leaves the order out", "", func(t *targets.Target, _ *Session) {
		t.Committed = `SELECT ref, id FROM orders WHERE false`
	}, diagnosis.Committed, []string{"it returns no row", "what its WHERE leaves out"}},
	{"a committed query that fails", "", func(t *targets.Target, _ *Session) {
		t.Committed = `SELECT reference FROM orders`
	}, diagnosis.Committed, []string{"the committed query fails", `column "reference" does not exist`, "order's token"}},
	{"an app that writes past its proxy", "app-connects-past-the-proxy-for-a-moment", func(t *targets.Target, s *Session) {
		t.App.Env = map[string]string{directVariable: directPostgres(s)}
	}, diagnosis.Links, []string{"past the prox"}},
	{"a pending query that fails", "", func(t *targets.Target, _ *Session) {
		t.Pending = `SELECT count(*) FROM outbocks`
	}, diagnosis.Pending, []string{"the pending query fails", `relation "outbocks" does not exist`, "one number"}},
	{"a relay that is not there", "", func(t *targets.Target, _ *Session) {
		t.Relay.Start = []string{"./no-such-relay"}
	}, diagnosis.Relay, []string{"relay.0 does not start", "relay.start"}},
	{"a relay that ends at once", "", func(t *targets.Target, _ *Session) {
		t.Relay.Start = []string{"sh", "-c", "echo no broker for me; exit 7"}
	}, diagnosis.Relay, []string{"exited by itself", "no broker for me"}},
	{"a relay that publishes to another subject", "", func(t *targets.Target, _ *Session) {
		t.Relay.Env = map[string]string{targets.EnvTopic: "orders.placed"}
	}, diagnosis.Event, []string{`published to the subject "orders.placed"`, "{{.Topic}}", `topics: ["orders.placed"]`}},
	{"a relay with an address of its own for the database", "", func(t *targets.Target, _ *Session) {
		t.Relay.Env = map[string]string{targets.EnvPostgresURL: "postgres://127.0.0.1:1/x?connect_timeout=1"}
	}, diagnosis.Event, []string{"its proxy", "{{.Postgres.URL}}", targets.EnvPostgresURL}},
	{"a relay with an address of its own for the broker", "", func(t *targets.Target, _ *Session) {
		t.Relay.Env = map[string]string{targets.EnvBrokerURL: "nats://127.0.0.1:1"}
	}, diagnosis.Event, []string{"never connected to the broker", "{{.Broker.URL}}"}},
	{"a relay that does nothing", "relay-sleeps", nil, diagnosis.Event, []string{"seen on neither of its proxies", "{{.Postgres.URL}}", "{{.Broker.URL}}"}},
	{"a relay that is at the servers themselves", "", func(t *targets.Target, s *Session) {
		t.Relay.Env = map[string]string{targets.EnvPostgresURL: directPostgres(s)}
	}, diagnosis.Links, []string{"relay", "past the proxies came a connection to Postgres", "{{.Postgres.URL}}"}},
	{"an order rule for another field", "", func(t *targets.Target, _ *Session) {
		t.Event.Order = "body:$.ref"
	}, diagnosis.Understood, []string{"looked for body:$.ref", "the order is at body:$.order", "its body: {"}},
	{"an id rule for another header", "", func(t *targets.Target, _ *Session) {
		t.Event.ID = "header:Event-Identifier"
	}, diagnosis.Understood, []string{"looked for header:Event-Identifier", "header:Event-Id", "its headers: "}},
	{"an order rule that finds something else", "", func(t *targets.Target, _ *Session) {
		t.Event.Order = "body:$.customer"
	}, diagnosis.Understood, []string{`names the order "c1"`, "committed has o1", "the order is at body:$.order"}},
	{"a condition that no message meets", "", func(t *targets.Target, _ *Session) {
		t.Event.When = "body:$.type == Order"
	}, diagnosis.Understood, []string{"leaves out all 1 message", "event.when"}},
	{"an applied query that names others", "", func(t *targets.Target, _ *Session) {
		t.Consumer.Applied = `SELECT event_id, 'the ' || consumer, count(*) FROM effects GROUP BY 1, 2`
	}, diagnosis.Applied, []string{`"the kitchen"`, "the applied query returns the consumer", `the manifest names "kitchen", "billing"`, "consumer.names"}},
	{"an applied query that finds nothing", "", func(t *targets.Target, _ *Session) {
		t.Consumer.Applied = `SELECT event_id, consumer, count(*) FROM effects WHERE false GROUP BY 1, 2`
	}, diagnosis.Applied, []string{"no effect of kitchen, billing", "applied returned no row", "the consumer wrote into"}},
	{"an applied query that fails", "", func(t *targets.Target, _ *Session) {
		t.Consumer.Applied = `SELECT event_id, consumer, count(*) FROM effekts GROUP BY 1, 2`
	}, diagnosis.Applied, []string{"the applied query fails", `relation "effekts" does not exist`, "number of effects"}},
	{"an applied query of another id", "", func(t *targets.Target, _ *Session) {
		t.Consumer.Applied = `SELECT order_ref, consumer, count(*) FROM effects GROUP BY 1, 2`
	}, diagnosis.Applied, []string{`returns the event id "o1"`, "header:Event-Id"}},
	{"a consumer that ends at once", "", func(t *targets.Target, _ *Session) {
		t.Consumer.Start = []string{"sh", "-c", "echo no stream for me; exit 7"}
	}, diagnosis.Applied, []string{"consumer.0 exited by itself", "no stream for me"}},
	{"a consumer that applies nothing", "consumer-applies-nothing", nil, diagnosis.Applied, []string{"no effect of kitchen, billing"}},
}

// bySQL has the harness's own app write the orders.
func bySQL(t *targets.Target, statements ...string) {
	t.App = targets.App{SQL: statements}
	delete(t.Go, targets.RoleApp)
}

func TestExaminationOfMistakes(t *testing.T) {
	for _, c := range mistakes {
		t.Run(c.name, func(t *testing.T) {
			s := borrow(t)
			target := reference(t)
			if c.variation != "" {
				target = variation(t, c.variation)
			}
			target = own(target)
			if c.vary != nil {
				c.vary(&target, s)
			}
			out := examined(t, s, target)
			wrong := out.Wrong()
			if wrong == nil {
				t.Fatalf("no step is wrong:\n%s", stepsText(out.Steps))
			}
			if wrong.Name != c.step {
				t.Errorf("the step %s is wrong, want %s", wrong.Name, c.step)
			}
			said := strings.Join(append([]string{wrong.What, wrong.Mend}, wrong.Evidence...), "\n")
			for _, word := range c.says {
				if !strings.Contains(said, word) {
					t.Errorf("nothing says %q", word)
				}
			}
			if wrong.Mend == "" && c.step != diagnosis.Manifest {
				t.Error("there is no mend")
			}
			if _, password := s.stacks[0].Postgres.Credentials(); strings.Contains(said, password) {
				t.Error("it tells the password")
			}
			if out.Verdict() != properties.UnknownResult {
				t.Errorf("the verdict is %s, want unknown", out.Verdict())
			}
			order(t, out.Steps, target)
			if t.Failed() {
				t.Log(stepsText(out.Steps))
			}
		})
	}
}

// own is a copy of a target that may be varied, with roles that may be programs.
func own(target targets.Target) targets.Target {
	consumer := *target.Consumer
	target.Consumer = &consumer
	roles := map[string]targets.RoleFunc{}
	for name, run := range target.Go {
		roles[name] = run
	}
	target.Go = roles
	target.SchemaSQL = slices.Clone(target.SchemaSQL)
	return target
}

// examined is an examination, whose steps were told as they are.
func examined(t *testing.T, s *Session, target targets.Target) Examination {
	t.Helper()
	// What has a command of its own is no Go function.
	for role, p := range map[string]targets.Process{targets.RoleApp: target.App.Process, targets.RoleRelay: target.Relay.Process, targets.RoleConsumer: target.Consumer.Process} {
		if len(p.Start) > 0 {
			delete(target.Go, role)
		}
	}
	var told []diagnosis.Step
	out, err := s.Examine(t.Context(), target, Options{Out: t.TempDir(), Orders: 2}, func(step diagnosis.Step) { told = append(told, step) })
	if err != nil {
		t.Fatal(err)
	}
	if stepsText(told) != stepsText(out.Steps) {
		t.Errorf("told was\n%s\nand the steps are\n%s", stepsText(told), stepsText(out.Steps))
	}
	return out
}

// order wants every step once, in its order, and nothing tried after what is wrong.
func order(t *testing.T, steps []diagnosis.Step, target targets.Target) {
	t.Helper()
	var names []string
	wrong := false
	for _, s := range steps {
		names = append(names, s.Name)
		if wrong && s.State != diagnosis.NotTried {
			t.Errorf("%s is %s after a step that is wrong", s.Name, s.State)
		}
		wrong = wrong || s.State == diagnosis.Wrong
	}
	if want := diagnosis.Names(target.Manifest); !slices.Equal(names, want) {
		t.Errorf("the steps are %v, want %v", names, want)
	}
}

func stepsText(steps []diagnosis.Step) string {
	var lines []string
	for _, s := range steps {
		lines = append(lines, s.Name+" "+string(s.State)+": "+s.What)
		if s.Mend != "" {
			lines = append(lines, "  mend: "+s.Mend)
		}
		for _, e := range s.Evidence {
			lines = append(lines, "    "+e)
		}
	}
	return strings.Join(lines, "\n")
}

func relayWithAFile(t *testing.T) targets.Target {
	target := variation(t, "relay-by-file")
	target.Relay.Env = map[string]string{targets.EnvPostgresURL: "postgres://nowhere", filesVariable: "{{.Files}}"}
	target.Relay.Files = map[string]string{"conf/relay.properties": "url={{.Postgres.URL}}\n"}
	target.Relay.Ready = targets.Ready{Get: "/healthz"}
	return target
}

// A sound target has nothing wrong, and is measured.
func TestExaminationOfASoundTarget(t *testing.T) {
	for name, target := range map[string]targets.Target{
		"polling":        reference(t),
		"an app by HTTP": variation(t, "app-by-http"),
		"a relay by app": variation(t, "app-relays"),
		"commits later":  variation(t, "app-by-http-commits-later"),
		"several in one": variation(t, "relay-publishes-batches"),
		"a relay's file": relayWithAFile(t),
		"two of a relay": find(t, "polling").Target,
	} {
		t.Run(name, func(t *testing.T) {
			s := borrow(t)
			out, err := s.Examine(t.Context(), target, Options{Out: t.TempDir(), Orders: 3}, nil)
			if err != nil {
				t.Fatal(err)
			}
			order(t, out.Steps, target)
			if wrong := out.Wrong(); wrong != nil || out.Verdict() != properties.Pass {
				t.Fatalf("the verdict is %s:\n%s", out.Verdict(), stepsText(out.Steps))
			}
			t.Logf("%+v\n%+v\n%q\n%s", *out.Pace, *out.Estimate, out.Advice, stepsText(out.Steps))
			// The roles of these targets pause for 10 ms when a poll has found nothing.
			if poll := out.Pace.Poll; poll < 10*time.Millisecond || poll > 200*time.Millisecond {
				t.Errorf("the poll interval is %v", poll)
			}
			if out.Estimate.Cells == 0 || out.Estimate.Least <= 0 || out.Estimate.Most < out.Estimate.Least {
				t.Errorf("the estimate is %+v", *out.Estimate)
			}
		})
	}
}
