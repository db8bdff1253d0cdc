package targets

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// refusal is a manifest and, line by line, what is said of it. The manifest
// is the sound one with one text replaced.
type refusal struct {
	name     string
	old, new string
	want     string
}

var refusals = []refusal{
	{"nothing at all", sound, "# nothing\n",
		`m.yaml:1:1: the manifest is empty; write at least name, app, relay, committed and event`},
	{"no mapping", sound, "just words\n",
		`m.yaml:1:1: this is "just words"; write a mapping with some of: name, build, schema, broker, app, relay, consumer, committed, pending, event, drain, claims, limits`},
	{"no YAML", "name: my-outbox", "name: [my-outbox",
		`m.yaml:2:1: this is not YAML: ',' or ']' must be specified`},
	{"two documents", "committed:", "---\ncommitted:",
		`m.yaml:14:10: a second document begins here; write one manifest a file`},
	{"a key twice", "  dir: .", "  dir: .\n  dir: sub",
		`m.yaml:6:3: this is not YAML: mapping key "dir" already defined at [5:3]`},
	{"an unknown key at the top", "committed:", "comitted:",
		`m.yaml:1:1: committed: it is missing; write the query for the committed orders, such as SELECT ref, id FROM orders
m.yaml:13:1: unknown key "comitted"; did you mean "committed"?`},
	{"an unknown key in a role", "  start: [./service", "  strat: [./service",
		`m.yaml:4:3: app: unknown key "strat"; did you mean "start"?`},
	{"an unknown key like nothing", "relay: {start", "relay: {colour: red, start",
		`m.yaml:8:9: relay: unknown key "colour"; known: start, dir, env, files, replicas, ready, ready-within`},
	{"a text for a list", "start: [./relay]", "start: ./relay",
		`m.yaml:8:16: relay.start: this is "./relay"; write a list: [./relay]`},
	{"a list for a text", "applied: SELECT 1", "applied: [SELECT 1]",
		`m.yaml:12:12: consumer.applied: this is a list; write a text`},
	{"a text for a number", "replicas: 2", "replicas: two",
		`m.yaml:8:37: relay.replicas: this is "two"; write a whole number`},
	{"a fraction for a whole number", "replicas: 2", "replicas: 2.5",
		`m.yaml:8:37: relay.replicas: this is "2.5"; write a whole number`},
	{"a text for a truth", "stdio: true", "stdio: 'true'",
		`m.yaml:7:10: app.stdio: this is "true"; write true or false`},
	{"a list for a role", "relay: {start: [./relay], replicas: 2}", "relay: [./relay]",
		`m.yaml:8:8: relay: this is a list; write "relay: app" if the app's process publishes too, or "relay: {start: [./relay]}"`},
	{"a word for the relay", "relay: {start: [./relay], replicas: 2}", "relay: service",
		`m.yaml:8:8: relay: this is "service"; write "relay: app" if the app's process publishes too, or "relay: {start: [./relay]}"`},
	{"an empty relay", "relay: {start: [./relay], replicas: 2}", "relay:",
		`m.yaml:8:7: relay: this is empty; write "relay: app" if the app's process publishes too, or "relay: {start: [./relay]}"`},
	{"a list for the environment", "env: {DATABASE_URL: '{{.Postgres.URL}}', RETRIES: 3}", "env: [A=B]",
		`m.yaml:6:8: app.env: this is a list; write a mapping: {NAME: value}`},
	{"an alias of nothing", "start: [./relay]", "start: *command",
		`m.yaml:8:16: relay.start: alias *command has no anchor before it`},
	{"a tag", "name: my-outbox", "name: !!str my-outbox",
		`m.yaml:1:7: name: tags are not used in manifests; leave out !!str`},
	{"no relay", "relay: {start: [./relay], replicas: 2}\n", "",
		`m.yaml:1:1: relay.start: it is missing; write the command and its arguments, such as [./service, --verbose], or "relay: app" if the app's process publishes too`},
	{"a name with a slash", "name: my-outbox", "name: my/outbox",
		`m.yaml:1:7: name: "my/outbox" cannot be part of a file's name; use up to 64 letters, digits, dots, dashes and underscores`},
	{"stdio and sql", "  stdio: true", "  stdio: true\n  sql: [SELECT 1]",
		`m.yaml:3:1: app: stdio and sql are set; keep one of them: stdio if the app's own process takes orders on its standard input, place if it takes them by HTTP, sql if the harness is to write them`},
	{"neither stdio nor sql", "  stdio: true\n", "",
		`m.yaml:3:1: app: none of stdio, place and sql is set; write one of them: stdio if the app's own process takes orders on its standard input, place if it takes them by HTTP, sql if the harness is to write them`},
	{"sql with a command and abort", "  stdio: true", "  sql: [SELECT 1]\n  abort: true",
		`m.yaml:3:1: app: sql is run by the harness's own process; leave out start, dir and env
m.yaml:8:10: app.abort: the harness can roll sql back without it; leave it out`},
	{"no command for the consumer", "  start: [./consumer]\n", "",
		`m.yaml:9:1: consumer.start: it is missing; write the command and its arguments, such as [./service, --verbose]`},
	{"an empty command", "start: [./relay]", "start: ['']",
		`m.yaml:8:16: relay.start: the command is empty; write the program first and then its arguments`},
	{"a consumer without names and query", "  names: [kitchen]\n  applied: SELECT 1\n", "",
		`m.yaml:9:1: consumer.applied: it is missing; write the query for the effects: event id, consumer, and their number, such as SELECT event_id, consumer, count(*) FROM effects GROUP BY 1, 2
m.yaml:9:1: consumer.names: it is missing; list the consumers as the applied query spells them`},
	{"a consumer's name twice", "names: [kitchen]", "names: [kitchen, kitchen]",
		`m.yaml:11:20: consumer.names[1]: "kitchen" is listed twice`},
	{"a broker that is not there", "committed:", "broker: {kind: nat}\ncommitted:",
		`m.yaml:13:16: broker.kind: there is no broker "nat"; did you mean "nats"?`},
	{"a bad topic", "committed:", "broker: {topics: [a..b]}\ncommitted:",
		`m.yaml:13:19: broker.topics[0]: "a..b" is no NATS subject; write names with dots between them, "*" for one name, ">" at the end for the rest`},
	{"an unknown claim", "committed:", "claims: [writes-survive-outage, no-lost-event]\ncommitted:",
		`m.yaml:13:10: claims[0]: there is no claim "writes-survive-outage"; known: writes-survive-broker-outage
m.yaml:13:33: claims[1]: no-lost-event is judged for every target; leave it out`},
	{"a template that names nothing", "{{.Postgres.URL}}", "{{.Postgress.URL}}",
		`m.yaml:6:23: app.env.DATABASE_URL: expand the template "{{.Postgress.URL}}": can't evaluate field Postgress; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database, .Broker.URL, .Broker.Addr, .Broker.Host, .Broker.Port, .Broker.User, .Broker.Password, .Topic, .Stream, .Instance, .Port`},
	{"a template that does not close", "{{.Postgres.URL}}", "{{.Postgres.URL",
		`m.yaml:6:23: app.env.DATABASE_URL: read the template "{{.Postgres.URL": unclosed action; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database, .Broker.URL, .Broker.Addr, .Broker.Host, .Broker.Port, .Broker.User, .Broker.Password, .Topic, .Stream, .Instance, .Port`},
	{"an order where none is known", "--port", "'{{.Order}}'",
		`m.yaml:4:22: app.start[1]: expand the template "{{.Order}}": can't evaluate field Order; known: .Postgres.URL, .Postgres.Host, .Postgres.Port, .Postgres.User, .Postgres.Password, .Postgres.Database, .Broker.URL, .Broker.Addr, .Broker.Host, .Broker.Port, .Broker.User, .Broker.Password, .Topic, .Stream, .Instance, .Port`},
	{"a bad field rule", "'body:$.order'", "'$.order'",
		`m.yaml:14:16: event.order: "$.order" is no field rule; write header:NAME, body:$.path, body (the whole body), key, subject or topic; or one of them, " ~ " and a REGEXP with one group`},
	{"a bad path", "'body:$.order'", "'body:$.lines[x]'",
		`m.yaml:14:16: event.order: "body:$.lines[x]": "$.lines[x]" has "x" for an index; write $ and then .name, [0] or ["a name"]`},
	{"a bad condition", "event: {", "event: {when: body:$.type, ",
		`m.yaml:14:15: event.when: "body:$.type" is no condition; write RULE == VALUE or RULE != VALUE, such as body:$.type == OrderPlaced, and " and " between several`},
	{"no event id", ", id: 'header:Event-Id'", "",
		`m.yaml:14:8: event.id: it is missing; write where an event carries its id, such as header:Event-Id`},
	{"a promise out of range", "committed:", "drain: {polls: -1, seconds: 1e9}\ncommitted:",
		`m.yaml:13:16: drain.polls: -1 is out of range; write 1 to 1000
m.yaml:13:29: drain.seconds: 1e+09 is out of range; write more than 0 and at most 3600`},
	{"no number of seconds", "committed:", "drain: {seconds: .nan}\ncommitted:",
		`m.yaml:13:18: drain.seconds: this is ".nan"; write a number`},
	{"too many replicas", "replicas: 2", "replicas: 17",
		`m.yaml:8:37: relay.replicas: 17 is out of range; write 1 to 16`},
	{"more replicas than the limit", "committed:", "limits: {replicas: 1}\ncommitted:",
		`m.yaml:8:37: relay.replicas: 2 relays are more than limits.replicas allows, which is 1`},
	{"a schema file that is not there", "[schema.sql]", "[schema.sql, db/more.sql]",
		`m.yaml:2:22: schema[1]: there is no file db/more.sql; paths start at the manifest's folder`},
	{"a folder that is not there", "dir: .", "dir: schema.sql",
		`m.yaml:5:8: app.dir: there is no folder schema.sql; paths start at the manifest's folder`},
	{"several mistakes at once", sound, `nmae: my-outbox
app: {stdio: yes, start: [./service]}
relay: {start: [./relay], replicas: many}
committed: SELECT 1
event: {order: body:order, id: body}
`, `m.yaml:1:1: name: it is missing; write what reports should call the target
m.yaml:1:1: unknown key "nmae"; did you mean "name"?
m.yaml:2:14: app.stdio: this is "yes"; write true or false
m.yaml:3:37: relay.replicas: this is "many"; write a whole number
m.yaml:5:16: event.order: "body:order": "order" does not begin with $; write $ and then .name, [0] or ["a name"]`},
}

func TestRefusals(t *testing.T) {
	files := fstest.MapFS{"schema.sql": {Data: []byte("-- empty")}}
	for _, r := range append(slices.Clone(refusals), keyRefusals...) {
		t.Run(r.name, func(t *testing.T) {
			if !strings.Contains(sound, r.old) {
				t.Fatalf("the manifest has no %q", r.old)
			}
			_, err := Parse("m.yaml", []byte(strings.Replace(sound, r.old, r.new, 1)), files, nil)
			if err == nil {
				t.Fatal("it was taken")
			}
			if got := sortedLines(err.Error()); got != sortedLines(r.want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, sortedLines(r.want))
			}
		})
	}
}
