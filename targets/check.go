package targets

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// brokerNATS is the broker that the harness starts itself.
const brokerNATS = "nats"

const (
	mostReplicas = 16   // each is a process with proxies of its own
	mostPolls    = 1000 // beyond this it is no promise
	mostSeconds  = 3600 // an hour; a trial waits ten times as long
)

// BrokerKinds are the kinds of broker that a manifest can name.
func BrokerKinds() []string { return []string{brokerNATS} }

// ClaimNames are the properties that a manifest can claim. The ones that every
// outbox must keep are judged without a claim.
func ClaimNames() []string { return []string{"writes-survive-broker-outage"} }

// alwaysJudged need no claim.
func alwaysJudged() []string { return []string{"no-lost-event", "no-ghost-event", "applied-once"} }

var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check notes what is wrong with a target whose manifest has been decoded. It
// is silent about keys where decoding already found something.
func check(t Target, f *findings) {
	if text(f, "name", t.Name, "what reports should call the target") && !goodName.MatchString(t.Name) {
		f.add("name", "%q cannot be part of a file's name; use up to 64 letters, digits, dots, dashes and underscores", t.Name)
	}
	for i, name := range t.Schema {
		text(f, fmt.Sprintf("schema[%d]", i), name, "a SQL file's path")
	}
	checkBroker(t.Broker, f)
	checkApp(t, f)
	checkRelay(t, f)
	checkConsumer(t, f)
	text(f, "committed", t.Committed, "the query for the committed orders, such as SELECT ref, id FROM orders")
	checkEvent(t.Event, f)
	checkPromises(t.Manifest, f)
	for _, role := range slices.Sorted(maps.Keys(t.Go)) {
		switch {
		case !slices.Contains([]string{RoleApp, RoleRelay, RoleConsumer}, role):
			f.add("", "the Go function for role %q has no such role; known: %s, %s, %s", role, RoleApp, RoleRelay, RoleConsumer)
		case t.Go[role] == nil:
			f.add(role, "its Go function is nil")
		}
	}
}

// text demands a text that is not blank, and tells whether it is there.
func text(f *findings, key, value, what string) bool {
	if strings.TrimSpace(value) != "" {
		return true
	}
	if !f.spoiled(key) {
		f.add(key, "it is missing; write %s", what)
	}
	return false
}

func checkBroker(b Broker, f *findings) {
	if b.Kind != "" && !slices.Contains(BrokerKinds(), b.Kind) {
		f.add("broker.kind", "there is no broker %q; %s", b.Kind, meant(b.Kind, BrokerKinds()))
	}
	for i, topic := range b.Topics {
		key := fmt.Sprintf("broker.topics[%d]", i)
		if text(f, key, topic, "a subject") && !goodSubject(topic) {
			f.add(key, `%q is no NATS subject; write names with dots between them, "*" for one name, ">" at the end for the rest`, topic)
		}
	}
}

// goodSubject follows https://docs.nats.io/nats-concepts/subjects.
func goodSubject(s string) bool {
	names := strings.Split(s, ".")
	for i, name := range names {
		switch {
		case name == "", strings.ContainsAny(name, " \t\r\n\x00"):
			return false
		case name == ">" && i < len(names)-1:
			return false
		case len(name) > 1 && strings.ContainsAny(name, "*>"):
			return false
		}
	}
	return true
}

func checkApp(t Target, f *findings) {
	a := t.App
	if f.spoiled("app") && !a.Stdio && len(a.SQL) == 0 {
		return
	}
	switch {
	case a.Stdio && len(a.SQL) > 0:
		f.add("app", "both stdio and sql are set; keep stdio if the app's own process takes orders, or sql if the harness is to write them")
		return
	case !a.Stdio && len(a.SQL) == 0:
		f.add("app", "neither stdio nor sql is set; write stdio: true and start, or sql: with the statements that write one order and its event")
		return
	case a.Stdio:
		checkProcess(t, RoleApp, a.Process, f)
		return
	}
	for i, statement := range a.SQL {
		key := fmt.Sprintf("app.sql[%d]", i)
		if text(f, key, statement, "a statement") {
			checkTemplate(f, key, statement, orderNames())
		}
	}
	if len(a.Start) > 0 || a.Dir != "" || len(a.Env) > 0 || t.Go[RoleApp] != nil {
		f.add("app", "sql is run by the harness's own process; leave out start, dir and env")
	}
	if a.Abort {
		f.add("app.abort", "the harness can roll sql back without it; leave it out")
	}
	if a.Replicas < 0 || a.Replicas > 1 {
		f.add("app.replicas", "the harness starts as many apps as a workload needs; leave it out")
	}
}

func checkRelay(t Target, f *findings) {
	if !t.Relay.InApp {
		checkProcess(t, RoleRelay, t.Relay.Process, f)
		if limit := t.Limits.Replicas; limit > 0 && t.Relay.Replicas > limit {
			f.add("relay.replicas", "%d relays are more than limits.replicas allows, which is %d", t.Relay.Replicas, limit)
		}
		return
	}
	if len(t.App.SQL) > 0 {
		f.add("relay", "the app's process cannot publish, since sql is run by the harness; say what to start: {start: [./relay]}")
	}
	if len(t.Relay.Start) > 0 || t.Relay.Replicas > 1 || t.Go[RoleRelay] != nil {
		f.add("relay", "the app's process is the relay; leave out start and replicas, or do not say so")
	}
}

func checkConsumer(t Target, f *findings) {
	c := t.Consumer
	if c == nil {
		if t.Go[RoleConsumer] != nil && !f.spoiled("consumer") {
			f.add("consumer", "there is a Go function for it and nothing to judge it by; write names and applied")
		}
		return
	}
	checkProcess(t, RoleConsumer, c.Process, f)
	if len(c.Names) == 0 && !f.spoiled("consumer.names") {
		f.add("consumer.names", "it is missing; list the consumers as the applied query spells them")
	}
	for i, name := range c.Names {
		key := fmt.Sprintf("consumer.names[%d]", i)
		if text(f, key, name, "a consumer's name") && slices.Contains(c.Names[:i], name) {
			f.add(key, "%q is listed twice", name)
		}
	}
	text(f, "consumer.applied", c.Applied,
		"the query for the effects: event id, consumer, and their number, such as SELECT event_id, consumer, count(*) FROM effects GROUP BY 1, 2")
}

// checkProcess demands a command or a Go function, and not both.
func checkProcess(t Target, role string, p Process, f *findings) {
	isFunction := t.Go[role] != nil
	start := role + ".start"
	switch {
	case isFunction && len(p.Start) > 0:
		f.add(start, "the role is a Go function, which has no command; leave it out")
	case !isFunction && len(p.Start) == 0 && !f.spoiled(role):
		mend := "write the command and its arguments, such as [./service, --verbose]"
		if role == RoleRelay {
			mend += `, or "relay: app" if the app's process publishes too`
		}
		f.add(start, "it is missing; %s", mend)
	case len(p.Start) > 0 && strings.TrimSpace(p.Start[0]) == "" && !f.spoiled(start):
		f.add(start, "the command is empty; write the program first and then its arguments")
	}
	for i, word := range p.Start {
		checkTemplate(f, fmt.Sprintf("%s[%d]", start, i), word, addressNames())
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		key := role + ".env." + name
		if name == "" || strings.ContainsAny(name, "=\x00") {
			f.add(key, "%q cannot be a variable's name", name)
		}
		checkTemplate(f, key, p.Env[name], addressNames())
	}
	checkReplicas(role, p.Replicas, f)
}

func checkReplicas(role string, n int, f *findings) {
	if n < 0 || n > mostReplicas {
		f.add(role+".replicas", "%d is out of range; write 1 to %d", n, mostReplicas)
	}
}

func checkEvent(e EventRules, f *findings) {
	rule := func(key, value, what string, needed bool) {
		if value == "" && !needed {
			return
		}
		if !text(f, key, value, what) {
			return
		}
		if _, err := compileRule(value); err != nil {
			f.add(key, "%v", err)
		}
	}
	rule("event.order", e.Order, "where an event names its order, such as body:$.order", true)
	rule("event.id", e.ID, "where an event carries its id, such as header:Event-Id", true)
	rule("event.key", e.Key, "a field rule", false)
	if e.When != "" {
		if _, err := compileCondition(e.When); err != nil {
			f.add("event.when", "%v", err)
		}
	}
}

func checkPromises(m Manifest, f *findings) {
	if m.Drain.Polls < 0 || m.Drain.Polls > mostPolls {
		f.add("drain.polls", "%d is out of range; write 1 to %d", m.Drain.Polls, mostPolls)
	}
	if s := m.Drain.Seconds; s < 0 || s > mostSeconds || math.IsNaN(s) {
		f.add("drain.seconds", "%v is out of range; write more than 0 and at most %d", s, mostSeconds)
	}
	if m.Limits.Replicas < 0 {
		f.add("limits.replicas", "%d is out of range; write how many relays may run, or leave it out for any number", m.Limits.Replicas)
	}
	for i, claim := range m.Claims {
		key := fmt.Sprintf("claims[%d]", i)
		switch {
		case slices.Contains(ClaimNames(), claim):
		case slices.Contains(alwaysJudged(), claim):
			f.add(key, "%s is judged for every target; leave it out", claim)
		default:
			f.add(key, "there is no claim %q; %s", claim, meant(claim, ClaimNames()))
		}
	}
}

// eachRole visits the roles that are processes of the target.
func eachRole(t Target, visit func(role string, p Process)) {
	visit(RoleApp, t.App.Process)
	if !t.Relay.InApp {
		visit(RoleRelay, t.Relay.Process)
	}
	if t.Consumer != nil {
		visit(RoleConsumer, t.Consumer.Process)
	}
}
