package harness

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// passes executes a scenario once, which has to pass.
func passes(t *testing.T, s *Session, target targets.Target, text string) visit {
	t.Helper()
	v := attempt(t, s, target, parse(t, text), 1)[0]
	if v.judgement.Verdict != properties.Pass {
		t.Fatalf("the verdict is %s, want pass: %s", v.judgement.Verdict, v.told())
	}
	return v
}

// blames wants an error about the target that says each of the words.
func blames(t *testing.T, err error, words ...string) {
	t.Helper()
	var wrong *trial.TargetError
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("nothing says %q: %v", word, err)
		}
	}
}

// A relay that is a service: its addresses come from a file, it listens on its
// port, and it is asked there whether it is up, in each of its lives.
func TestARelayWithAFileAPortAndReadiness(t *testing.T) {
	s := borrow(t)
	target := variation(t, "relay-by-file")
	target.Relay.Env = map[string]string{targets.EnvPostgresURL: "postgres://nowhere", filesVariable: "{{.Files}}"}
	target.Relay.Files = map[string]string{"conf/relay.properties": "url={{.Postgres.URL}}\n"}
	target.Relay.Ready = targets.Ready{Get: "/healthz"}
	v := passes(t, s, target, faulted(oneOrder, at(`relay.0/broker "publish" #1 unanswered`, "kill")))

	ready, called := 0, false
	for _, e := range v.history {
		switch {
		case e.Kind == properties.KindCall:
			called = true
			if ready == 0 {
				t.Error("an order is asked for before the relay is ready")
			}
		case e.Process != nil && e.Process.Instance == "relay.0" && e.Process.What == "ready":
			ready++
		}
	}
	if ready != 2 || !called {
		t.Errorf("the relay was ready %d times, want once in each of its two lives", ready)
	}
	log, err := os.ReadFile(filepath.Join(v.logs, "relay.0.log"))
	if err != nil || !strings.Contains(string(log), "the database is postgres://") {
		t.Errorf("the relay's log is %q: %v", log, err)
	}
	if _, password := s.stacks[0].Postgres.Credentials(); strings.Contains(string(log), password) {
		t.Error("its log has the password")
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "files-*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// Without a fault a target that is not ready in time is told what was seen of it.
func TestATargetThatIsNotReady(t *testing.T) {
	s := borrow(t)
	target := reference(t)
	target.App.Ready, target.App.ReadyWithin = targets.Ready{Get: "/up"}, 0.5
	r := prepared(t, s, target)
	_, err := r.try(t.Context(), 0, parse(t, oneOrder))
	blames(t, err, "app.0 was not ready within 500ms", "GET /up", "connection refused", "app.ready-within")
}

// startedTwice is a committed query that finds orders only where the app has been started
// more than once: in the template, and in the trial.
const startedTwice = `SELECT ref, id FROM orders WHERE (SELECT count(*) FROM starts) > 1`

func TestSchemaByApp(t *testing.T) {
	s := borrow(t)
	target := variation(t, "app-makes-its-schema")
	target.SchemaSQL, target.Schema = nil, targets.Schema{ByApp: true}
	// Two streams cannot have the same subjects.
	target.Broker.Topics = []string{"acceptance.*"}
	target.Committed = startedTwice
	target.App.Ready = targets.Ready{Log: "^the tables are there$"}
	for range 2 { // and the slots of a template are gone with it
		passes(t, s, target, oneOrder)
	}
	// The harness's own consumer has its tables all the same.
	target.Consumer, target.Go = nil, maps.Clone(target.Go)
	delete(target.Go, targets.RoleConsumer)
	passes(t, s, target, oneOrder)
}

func TestAnAppThatDoesNotMakeTheSchema(t *testing.T) {
	s := borrow(t)
	target := variation(t, "app-makes-its-schema").WithDefaults()
	target.SchemaSQL, target.Schema = nil, targets.Schema{ByApp: true}
	target.App.Ready, target.App.ReadyWithin = targets.Ready{Log: "no such line"}, 1
	_, err := s.jobs(t.Context(), target)
	blames(t, err, "app.0, to make the schema, was not ready within 1s", `"no such line"`, "app.ready-within", "the tables are there")

	target.App.Ready, target.App.ReadyWithin = targets.Ready{Port: true}, 0
	target.App.Env = map[string]string{targets.EnvPostgresURL: "{{.Postgres.URL}}&no_such_setting=1"}
	_, err = s.jobs(t.Context(), target)
	blames(t, err, "app.0, to make the schema, exited with status 1 before it was ready", "its port", "no_such_setting")
}

func TestMigrationCommand(t *testing.T) {
	s := borrow(t)
	target := variation(t, "app-makes-its-schema")
	target.SchemaSQL = []string{"CREATE TABLE before (id int)"}
	target.Committed = startedTwice + ` AND (SELECT count(*) FROM before) = 0`
	target.Schema.Run = []string{s.exe}
	target.Schema.Env = map[string]string{
		roles.Variable: roles.Target(target.Name, targets.RoleApp), schemaVariable: "{{.Postgres.Database}}",
	}
	passes(t, s, target, oneOrder)

	target.Schema.Run = []string{"sh", "-c", `echo "at {{.Postgres.URL}}"; echo no such column >&2; exit 4`}
	_, err := s.jobs(t.Context(), target.WithDefaults())
	_, password := s.stacks[0].Postgres.Credentials()
	blames(t, err, "schema.run (sh -c ", "exited with status 4", "no such column", "at postgres://")
	if err != nil && strings.Contains(err.Error(), password) {
		t.Errorf("it tells the password: %v", err)
	}
}

// What a target builds is built before anything else, and once for all runs and
// replays of a session.
func TestBuildIsDoneOnce(t *testing.T) {
	s := borrow(t)
	target := reference(t)
	target.Dir = t.TempDir()
	target.Build = []targets.Command{{Run: []string{"sh", "-c", "echo built >> made"}}}
	var phases []string
	o := Options{Out: t.TempDir(), Orders: 1, SkipSweep: true, Progress: func(p Progress) { phases = append(phases, p.Phase) }}
	if _, err := s.Run(t.Context(), target, o); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Replay(t.Context(), target, parse(t, oneOrder), 1, o); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(target.Dir, "made")); err != nil || string(text) != "built\n" {
		t.Errorf("made %q: %v", text, err)
	}
	if len(phases) == 0 || phases[0] != phaseBuild {
		t.Errorf("the phases were %q", phases)
	}
	target.Build = []targets.Command{{Run: []string{"sh", "-c", "echo no such symbol; exit 2"}}}
	for range 2 { // a build that failed is tried again
		_, err := s.Replay(t.Context(), target, parse(t, oneOrder), 1, o)
		blames(t, err, "build[0]", "exited with status 2", "no such symbol")
	}
}
