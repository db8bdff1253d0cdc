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
	// Build are commands that are run once, in order, before anything else.
	Build []Command `yaml:"build,omitempty"`
	// Schema makes the template that the trial databases are copied from.
	Schema Schema `yaml:"schema,omitempty"`
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
	// Files are texts, templates allowed, by their paths in a folder that each
	// instance has of its own: {{.Files}}. The paths are relative, with slashes.
	Files map[string]string `yaml:"files,omitempty"`
	// Replicas is the number of instances; 0 means 1.
	Replicas int `yaml:"replicas,omitempty"`
	// Ready tells when an instance is up; the zero Ready: as soon as it runs.
	Ready Ready `yaml:"ready,omitempty"`
	// ReadyWithin is how many seconds an instance may take for that; 0: the
	// default, see [Process.StartBudget].
	ReadyWithin float64 `yaml:"ready-within,omitempty"`
}

// App is the role that writes orders. Exactly one of Stdio, Place and SQL is
// set.
type App struct {
	Process `yaml:",inline"`
	// Stdio: one JSON line in, one JSON line out; see docs/stdio.md.
	Stdio bool `yaml:"stdio,omitempty"`
	// Place are the HTTP requests for one order, in their order. The answer to
	// the last is the answer to the order; 202 means that the order is taken and
	// may not be committed yet.
	Place []Request `yaml:"place,omitempty"`
	// Abort tells that the app can be asked to roll an order back (stdio).
	Abort bool `yaml:"abort,omitempty"`
	// AbortBy are the HTTP requests that have the app roll one order back. The
	// requests of Place that are for a customer's first order come before them.
	AbortBy []Request `yaml:"abort,omitempty" mend:"write true if the app has stdio, or the request that makes it roll back: {http: POST /orders, body: '...'}"`
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

// EventRules say how to read an event of the broker's log. All but When are
// field rules; see docs/manifest.md.
type EventRules struct {
	// Each, if set, finds the array of the events in a message that holds
	// several. The body rules then start at its elements.
	Each string `yaml:"each,omitempty"`
	// Order finds the order's token, its UUID or the row's own id; ID the
	// event's id.
	Order string `yaml:"order"`
	ID    string `yaml:"id"`
	Key   string `yaml:"key,omitempty"`
	// Sequence finds the event's place among those of its order or its key.
	Sequence string `yaml:"sequence,omitempty"`
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
	// Ordering is none where events may come in any order.
	Ordering string `yaml:"ordering,omitempty"`
	// ExitsOnError: a role ends when a server fails it, and wants a supervisor.
	ExitsOnError bool `yaml:"exits-on-error,omitempty"`
}

// orderingNone is the one word that Limits.Ordering can hold.
const orderingNone = "none"

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
