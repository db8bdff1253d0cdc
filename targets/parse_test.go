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
	"time"
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
			Schema: Schema{Files: []string{"schema.sql"}},
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

// form is a way to write a key: the sound manifest with one text replaced.
type form struct {
	name, old, new string
	holds          func(Target) bool
}

func forms() []form {
	return []form{
		{"the relay in the app's process",
			"relay: {start: [./relay], replicas: 2}", "relay: app",
			func(t Target) bool { return t.Relay.InApp && len(t.Relay.Start) == 0 },
		},
		{"an anchor and its alias",
			"relay: {start: [./relay]", "relay: {start: &command [./relay, '{{.Topic}}'], env: {OUTER: &outer a, INNER: *outer}",
			func(t Target) bool { return t.Relay.Env["INNER"] == "a" && len(t.Relay.Start) == 2 },
		},
		{"a block text",
			"committed: SELECT ref, id FROM orders", "committed: |\n  SELECT ref,\n    id FROM orders",
			func(t Target) bool { return t.Committed == "SELECT ref,\n  id FROM orders\n" },
		},
		{"sql instead of stdio",
			sound[strings.Index(sound, "  start: [./service"):strings.Index(sound, "relay:")],
			"  sql:\n    - INSERT INTO orders VALUES ('{{.Order}}', '{{.Customer}}', '{{.Topic}}')\n",
			func(t Target) bool { return len(t.App.SQL) == 1 && !t.App.Stdio },
		},
		{"a promise, claims, limits",
			"committed:", "drain: {seconds: 0.2}\nclaims: [writes-survive-broker-outage]\nlimits: {replicas: 2}\ncommitted:",
			func(t Target) bool {
				return t.Drain == Drain{Polls: 3, Seconds: 0.2} && len(t.Claims) == 1 && t.Limits.Replicas == 2
			},
		},
		{"topics",
			"committed:", "broker: {kind: nats, topics: [orders.*, 'events.>']}\ncommitted:",
			func(t Target) bool { return len(t.Broker.Topics) == 2 },
		},
		{"no schema", "schema: [schema.sql]", "schema: []", func(t Target) bool { return len(t.SchemaSQL) == 0 }},
		{"schema files and a migration", "schema: [schema.sql]", "schema: {files: [schema.sql], run: [migrate, '{{.Postgres.URL}}'], dir: ., env: {DB: '{{.Postgres.Database}}'}}",
			func(t Target) bool {
				c := t.Schema.Command()
				return len(t.SchemaSQL) == 1 && len(c.Run) == 2 && c.Dir == "." && len(c.Env) == 1 && t.CommandDir(c) == t.Dir
			}},
		{"schema by app", "schema: [schema.sql]\napp:\n", "schema: by app\napp:\n  ready: {log: '^listening'}\n",
			func(t Target) bool { return t.Schema.ByApp && t.App.Ready == Ready{Log: "^listening"} }},
		{"a build", "committed:", "build: [[make], {run: [npm, ci], dir: ., env: {CI: 1, TIME: '{{now}}'}}]\ncommitted:",
			func(t Target) bool {
				return len(t.Build) == 2 && t.Build[0].Run[0] == "make" && t.Build[1].Dir == "." && t.Build[1].Env["CI"] == "1"
			}},
		{"a build of one command", "committed:", "build: {run: [make, '{{.Id}}']}\ncommitted:", func(t Target) bool { return len(t.Build) == 1 }},
		{"a folder that the build makes", "app:\n  start: [./service, --port, 8080]\n  dir: .", "build: [[make]]\napp:\n  start: [./service, --port, 8080]\n  dir: target", func(t Target) bool { return t.App.Dir == "target" }},
		{"files", "replicas: 2}", "replicas: 2, files: {config/a.properties: 'url={{.Postgres.URL}}', b: '{{.Port}}'}, env: {CONFIG: '{{.Files}}/b'}}",
			func(t Target) bool { return len(t.Relay.Files) == 2 && t.Relay.StartBudget() == 30*time.Second }},
		{"ready by HTTP", "replicas: 2}", "replicas: 2, ready: GET /healthz?full=1, ready-within: 1.5}",
			func(t Target) bool {
				return t.Relay.Ready == Ready{Get: "/healthz?full=1"} && t.Relay.StartBudget() == 1500*time.Millisecond
			}},
		{"ready by port", "  start: [./consumer]", "  start: [./consumer, '{{.Port}}']\n  ready: port", func(t Target) bool { return t.Consumer.Ready == Ready{Port: true} }},
		{"a request", "stdio: true", "place: {http: POST /orders, body: '{{.Order}}'}",
			func(t Target) bool { return len(t.App.Place) == 1 && t.App.Ready.Port && !t.App.Abort }},
		{"several requests", "stdio: true", requests,
			func(t Target) bool {
				return len(t.App.Place) == 3 && t.App.Place[0].ForCustomer() && t.App.Place[2].Accepted[1] == 202 && len(t.App.AbortBy) == 2
			}},
		{"a request with an anchor", "stdio: true", "place: &order {http: 'PUT /orders/{{.UUID}}'}\n  abort: *order",
			func(t Target) bool { return len(t.App.AbortBy) == 1 && t.App.AbortBy[0].HTTP == t.App.Place[0].HTTP }},
		{"abort by standard input", "stdio: true", "stdio: true\n  abort: true", func(t Target) bool { return t.App.Abort && t.App.AbortBy == nil }},
		{"no abort", "stdio: true", "place: {http: 'GET /{{.Order}}'}\n  abort: false", func(t Target) bool { return !t.App.Abort }},
		{"several events", "event: {", "event: {each: 'body:$.events', sequence: 'body:$.no', when: 'body:$.type == A and subject != b', key: 'subject ~ orders\\.(.+)', ",
			func(t Target) bool { return t.Event.Each != "" && t.Event.Sequence != "" }},
		{"limits", "committed:", "limits: {ordering: none, exits-on-error: true}\ncommitted:",
			func(t Target) bool { return t.Limits == Limits{Ordering: "none", ExitsOnError: true} }},
	}
}

const requests = `place:
    - {http: POST /customers, body: '{"name":"{{.Customer}}","id":"{{.CustomerUUID}}"}', save: {at: 'header:Location'}, once: customer}
    - {http: 'GET {{.Saved.at}}/token', save: {token: 'body:$.token'}}
    - http: POST /orders
      headers: {Authorization: 'Bearer {{.Saved.token}}'}
      body: '{"ref":"{{.UUID}}"}'
      accepted: [201, 202]
  abort:
    - {http: 'GET {{.Saved.at}}/token', save: {token: 'body:$.token'}}
    - {http: 'POST /orders', body: '{"ref":"{{.UUID}}","token":"{{.Saved.token}}"}'}`

func TestForms(t *testing.T) {
	for _, edit := range forms() {
		t.Run(edit.name, func(t *testing.T) {
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
			if err := got.Validate(); err != nil {
				t.Errorf("as made in Go: %v", err)
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
