package targets

import (
	"context"
	"time"
)

// Manifest describes an outbox implementation to the harness: what to start,
// how to drive it, and how to read its ledgers. It is the file that a user
// writes; see docs/manifest.md.
type Manifest struct {
	// Name is how reports call the target.
	Name string `yaml:"name"`
	// Schema lists SQL files, relative to the manifest, applied once, in order,
	// to the template of the trial databases.
	Schema []string `yaml:"schema,omitempty"`
	// Broker says which broker and which topics; a zero Broker is NATS with one
	// fresh topic a trial.
	Broker   Broker    `yaml:"broker,omitempty"`
	App      App       `yaml:"app"`
	Relay    Relay     `yaml:"relay"`
	Consumer *Consumer `yaml:"consumer,omitempty"`
	// Committed returns the committed orders: the harness's order token, and
	// optionally the row's own id.
	Committed string `yaml:"committed"`
	// Pending returns one number: what the relay has still to do.
	Pending string     `yaml:"pending,omitempty"`
	Event   EventRules `yaml:"event"`
	// Drain is the promise: with everything healthy, an event is out within
	// this many polls and seconds, whichever takes longer.
	Drain  Drain    `yaml:"drain,omitempty"`
	Claims []string `yaml:"claims,omitempty"`
	Limits Limits   `yaml:"limits,omitempty"`
}

// Broker names the kind of broker and its topics.
type Broker struct {
	// Kind is nats.
	Kind string `yaml:"kind,omitempty"`
	// Topics are the subjects that the target publishes to, when it cannot take
	// the topic from OUTBOXTEST_TOPIC; wildcards are allowed.
	Topics []string `yaml:"topics,omitempty"`
}

// Process is what is started for a role.
type Process struct {
	// Start is the command and its arguments, templates allowed. A role that is
	// a Go function has none.
	Start []string `yaml:"start,omitempty"`
	// Dir is the working directory, relative to the manifest; default: the
	// manifest's own.
	Dir string `yaml:"dir,omitempty"`
	// Env is added to the environment, templates allowed.
	Env map[string]string `yaml:"env,omitempty"`
	// Replicas is the number of instances; 0 means 1.
	Replicas int `yaml:"replicas,omitempty"`
}

// App is the role that writes orders. Exactly one of Stdio and SQL is set.
type App struct {
	Process `yaml:",inline"`
	// Stdio: one JSON line in, one JSON line out; see docs/stdio.md.
	Stdio bool `yaml:"stdio,omitempty"`
	// Abort tells that the app can be asked to roll an order back (stdio).
	Abort bool `yaml:"abort,omitempty"`
	// SQL are statements, templates allowed, that the harness's own app process
	// runs in one transaction for each order.
	SQL []string `yaml:"sql,omitempty"`
}

// Relay is the role that publishes. InApp (written "relay: app") says that the
// app's process plays it too.
type Relay struct {
	Process `yaml:",inline"`
	InApp   bool `yaml:"-"`
}

// Consumer is the target's own consumer, if it has one.
type Consumer struct {
	Process `yaml:",inline"`
	// Names are the consumers whose effects are judged, as the applied query
	// spells them.
	Names []string `yaml:"names"`
	// Applied returns event id, consumer, and the number of effects.
	Applied string `yaml:"applied"`
}

// EventRules say how to read an event of the broker's log.
type EventRules struct {
	// Order finds the order token or the row's own id; ID the event's id. Both
	// are field rules: header:NAME, body:$.path, key, or body (the whole body).
	Order string `yaml:"order"`
	ID    string `yaml:"id"`
	Key   string `yaml:"key,omitempty"`
	// When, if set, selects the messages that are events: body:$.type == Text.
	When string `yaml:"when,omitempty"`
}

// Drain is the manifest's promise.
type Drain struct {
	Polls   int     `yaml:"polls,omitempty"`
	Seconds float64 `yaml:"seconds,omitempty"`
}

// Time is Seconds as a duration.
func (d Drain) Time() time.Duration { return time.Duration(d.Seconds * float64(time.Second)) }

// Limits are what the target's documentation says it does not promise.
type Limits struct {
	// Replicas is the largest number of relays that may run at once; 0: any.
	Replicas int `yaml:"replicas,omitempty"`
}

// RoleFunc is a role as a Go function: it runs in a process of its own, reads
// its addresses from the OUTBOXTEST_ environment, and returns when the role
// ends. It is killed, not cancelled.
type RoleFunc func(ctx context.Context) error

// Target is a manifest that has been read and checked, and what it needs to run.
type Target struct {
	Manifest
	// Dir is the folder that the manifest's relative paths start from.
	Dir string
	// Ref is how a scenario file names the target: a built-in's name or the
	// manifest's path. Empty: the target is not written into scenario files.
	Ref string
	// SchemaSQL is the text of the schema files.
	SchemaSQL []string
	// Go holds the roles that are Go functions, by role name (app, relay,
	// consumer).
	Go map[string]RoleFunc
}

// Addresses is what a template can name: {{.Postgres.URL}}, {{.Broker.URL}},
// {{.Topic}} and so on.
type Addresses struct {
	Postgres PostgresAddress
	Broker   BrokerAddress
	// Topic is the trial's own topic, Stream the JetStream stream that holds it.
	Topic, Stream string
	// Instance is relay.0.
	Instance string
	// Order and Customer are set when a statement for one order is expanded.
	Order, Customer string
}

// PostgresAddress is the trial's database through the instance's own proxy.
type PostgresAddress struct {
	URL, Host, Port, User, Password, Database string
}

// BrokerAddress is the broker through the instance's own proxy.
type BrokerAddress struct {
	URL, Addr, Host, Port, User, Password string
}

// Relays is how many relays of the target run: as many as asked for, or as its
// manifest says when that is 0; never more than its limit, and none where the app
// plays the role.
func (t Target) Relays(asked int) int {
	if t.Relay.InApp {
		return 0
	}
	n := asked
	if n == 0 {
		n = max(1, t.Relay.Replicas)
	}
	if limit := t.Limits.Replicas; limit > 0 {
		n = min(n, limit)
	}
	return n
}
