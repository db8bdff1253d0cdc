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
	checkBuild(t.Build, f)
	checkSchema(t, f)
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

func checkEvent(e EventRules, f *findings) {
	rule := func(key, value, what string, compile func(string) (rule, error)) {
		if !text(f, key, value, what) {
			return
		}
		if _, err := compile(value); err != nil {
			f.add(key, "%v", err)
		}
	}
	rule("event.order", e.Order, "where an event names its order, such as body:$.order", compileRule)
	rule("event.id", e.ID, "where an event carries its id, such as header:Event-Id", compileRule)
	if e.Each != "" {
		rule("event.each", e.Each, "where a message has its events, such as body:$.events", compileEach)
	}
	if e.Key != "" {
		rule("event.key", e.Key, "a field rule", compileRule)
	}
	if e.Sequence != "" {
		rule("event.sequence", e.Sequence, "a field rule", compileRule)
	}
	if e.When != "" {
		if _, err := compileConditions(e.When); err != nil {
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
	if o := m.Limits.Ordering; o != "" && o != orderingNone {
		f.add("limits.ordering", "there is no ordering %q; write %s if events may come in any order, or leave it out", o, orderingNone)
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
