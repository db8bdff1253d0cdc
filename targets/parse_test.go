package targets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

const sound = `name: my-outbox
schema: [schema.sql]
app:
  start: [./service, --port, 8080]
  dir: .
  env: {DATABASE_URL: '{{.Postgres.URL}}', RETRIES: 3}
  stdio: true
relay: {start: [./relay], replicas: 2}
consumer:
  start: [./consumer]
  names: [kitchen]
  applied: SELECT 1
committed: SELECT ref, id FROM orders
event: {order: 'body:$.order', id: 'header:Event-Id'}
`

func written(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"outbox.yaml": text, "schema.sql": "CREATE TABLE orders ();"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "outbox.yaml")
}

func TestLoad(t *testing.T) {
	path := written(t, sound)
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Target{
		Manifest: Manifest{
			Name:   "my-outbox",
			Schema: []string{"schema.sql"},
			Broker: Broker{Kind: "nats"},
			App: App{Stdio: true, Process: Process{
				Start: []string{"./service", "--port", "8080"}, Dir: ".", Replicas: 1,
				Env: map[string]string{"DATABASE_URL": "{{.Postgres.URL}}", "RETRIES": "3"},
			}},
			Relay: Relay{Process: Process{Start: []string{"./relay"}, Replicas: 2}},
			Consumer: &Consumer{
				Process: Process{Start: []string{"./consumer"}, Replicas: 1},
				Names:   []string{"kitchen"}, Applied: "SELECT 1",
			},
			Committed: "SELECT ref, id FROM orders",
			Event:     EventRules{Order: "body:$.order", ID: "header:Event-Id"},
			Drain:     Drain{Polls: 3, Seconds: 2},
		},
		Dir: filepath.Dir(path), Ref: path, SchemaSQL: []string{"CREATE TABLE orders ();"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestLoadTellsWhichFileIsMissing(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "absent.yaml"))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestForms(t *testing.T) {
	for name, edit := range map[string]struct {
		old, new string
		holds    func(Target) bool
	}{
		"the relay in the app's process": {
			"relay: {start: [./relay], replicas: 2}", "relay: app",
			func(t Target) bool { return t.Relay.InApp && len(t.Relay.Start) == 0 },
		},
		"an anchor and its alias": {
			"relay: {start: [./relay]", "relay: {start: &command [./relay, '{{.Topic}}'], env: {OUTER: &outer a, INNER: *outer}",
			func(t Target) bool { return t.Relay.Env["INNER"] == "a" && len(t.Relay.Start) == 2 },
		},
		"a block text": {
			"committed: SELECT ref, id FROM orders", "committed: |\n  SELECT ref,\n    id FROM orders",
			func(t Target) bool { return t.Committed == "SELECT ref,\n  id FROM orders\n" },
		},
		"sql instead of stdio": {
			sound[strings.Index(sound, "  start: [./service"):strings.Index(sound, "relay:")],
			"  sql:\n    - INSERT INTO orders VALUES ('{{.Order}}', '{{.Customer}}', '{{.Topic}}')\n",
			func(t Target) bool { return len(t.App.SQL) == 1 && !t.App.Stdio },
		},
		"a promise, claims, limits": {
			"committed:", "drain: {seconds: 0.2}\nclaims: [writes-survive-broker-outage]\nlimits: {replicas: 2}\ncommitted:",
			func(t Target) bool {
				return t.Drain == Drain{Polls: 3, Seconds: 0.2} && len(t.Claims) == 1 && t.Limits.Replicas == 2
			},
		},
		"topics": {
			"committed:", "broker: {kind: nats, topics: [orders.*, 'events.>']}\ncommitted:",
			func(t Target) bool { return len(t.Broker.Topics) == 2 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(sound, edit.old) {
				t.Fatalf("the manifest has no %q", edit.old)
			}
			got, err := Load(written(t, strings.Replace(sound, edit.old, edit.new, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if !edit.holds(got) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func role(context.Context) error { return nil }

func TestValidate(t *testing.T) {
	files := fstest.MapFS{"schema.sql": {Data: []byte("-- empty")}}
	text := `{name: go, app: {stdio: true}, relay: {}, committed: SELECT 1, event: {order: body, id: subject}}`
	roles := map[string]RoleFunc{RoleApp: role, RoleRelay: role}
	target, err := Parse("m.yaml", []byte(text), files, roles)
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Validate(); err != nil {
		t.Errorf("a target that Parse made: %v", err)
	}
	if target.Relay.Replicas != 1 || target.Drain.Time().Seconds() != 2 {
		t.Errorf("no defaults: %+v", target.Manifest)
	}

	target.Go = map[string]RoleFunc{RoleApp: nil, "janitor": role}
	target.Committed = " "
	want := `target go: committed: it is missing; write the query for the committed orders, such as SELECT ref, id FROM orders
target go: app.start: it is missing; write the command and its arguments, such as [./service, --verbose]
target go: relay.start: it is missing; write the command and its arguments, such as [./service, --verbose], or "relay: app" if the app's process publishes too
target go: app: its Go function is nil
target go: the Go function for role "janitor" has no such role; known: app, relay, consumer`
	err = target.Validate()
	if err == nil {
		t.Fatal("a target without functions is said to be sound")
	}
	if got := sortedLines(err.Error()); got != sortedLines(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, sortedLines(want))
	}
	var problems Problems
	if !errors.As(err, &problems) {
		t.Errorf("the error is a %T", err)
	}
}
