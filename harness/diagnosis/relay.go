package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// relay: it starts and is ready.
func (x *sight) relay() Step {
	if step, failed := x.failed(Relay); failed {
		return step
	}
	if x.m.Relay.InApp {
		return fine("it is a part of the app (relay: app)")
	}
	return x.running(targets.RoleRelay, "")
}

// event: one is in the broker's log.
func (x *sight) event() Step {
	if step, failed := x.failed(Event); failed {
		return step
	}
	n := len(x.log) + x.other
	if n == 0 {
		return x.whyNoEvent()
	}
	text := "the log holds " + counted(messages(x.log)+x.other, "message")
	if len(x.facts.Stored) > 0 {
		text += " on " + strings.Join(subjects(x.facts.Stored), ", ")
	}
	return fine(text)
}

// messages counts the messages of events, of which one message may hold several.
func messages(log []properties.Message) int {
	at := map[uint64]bool{}
	for _, m := range log {
		at[m.Position] = true
	}
	return len(at)
}

func subjects(list []Message) []string {
	var names []string
	for _, m := range list {
		names = once(names, m.Subject)
	}
	return names
}

// whyNoEvent looks for what is wrong where an order is committed and the log is
// empty.
func (x *sight) whyNoEvent() Step {
	role := x.relayRole()
	db, out := x.to(role, postgres), x.to(role, broker)
	wrong := func(what, mend string) Step {
		evidence := slices.Concat(x.carriedShown(role, postgres), x.carriedShown(role, broker), x.logOf(role))
		return x.wrong("no event reached the broker's log: "+what, mend, evidence...)
	}
	theRelay := "the relay"
	if x.m.Relay.InApp {
		theRelay = "the app, which is the relay too,"
	}
	if step, published := x.elsewhere(wrong); published {
		return step
	}
	switch {
	case db.opaque || out.opaque:
		return wrong(theRelay+" talks in a way that cannot be read", mendOpaque)
	case db.carried == 0 && out.carried == 0:
		return wrong(fmt.Sprintf("%s was seen on neither of its proxies%s", theRelay, x.past()),
			fmt.Sprintf("have it use the addresses that it is given: %s; and %s", address(postgres), address(broker)))
	case db.carried == 0:
		return wrong(fmt.Sprintf("nothing passed between %s and its proxy to Postgres, so that it reads another database, or none%s", theRelay, x.past()),
			"have it connect to the address that it is given: "+address(postgres))
	case out.opened == 0:
		return wrong(theRelay+" talked to Postgres and never connected to the broker through its proxy"+x.past(),
			"if it found the event, have it connect to the address that it is given: "+address(broker)+"; else see what its query leaves out")
	case out.carried == 0 || len(out.errors) > 0 && out.counts["publish"] == 0:
		return wrong(theRelay+" connected to the broker, and could not make itself understood there",
			"see its log; the broker wants the user and the password of "+address(broker)+", which some clients do not read from the URL: {{.Broker.User}}, {{.Broker.Password}}")
	}
	step := wrong(theRelay+" talked to both servers and published nothing",
		fmt.Sprintf("see whether it looks at what the app writes (%s), and how often: an event is out within drain.seconds (%g s)",
			orNothing(tables(x.to(targets.RoleApp, postgres).writes)), x.m.Drain.Seconds))
	step.Outbox = step.State == Wrong
	return step
}

// elsewhere tells of messages that went where the stream does not take them.
func (x *sight) elsewhere(wrong func(what, mend string) Step) (Step, bool) {
	var outside, inside []string
	for _, m := range x.facts.Published {
		if takes(x.facts.Subjects, m.Subject) {
			inside = once(inside, m.Subject)
		} else {
			outside = once(outside, m.Subject)
		}
	}
	switch {
	case len(outside) > 0:
		return wrong(fmt.Sprintf("%s was published to the subject %s, and the trial's stream takes %s", x.publishedBy(outside[0]), strings.Join(quoted(outside), ", "), strings.Join(quoted(x.facts.Subjects), ", ")),
			fmt.Sprintf("publish to {{.Topic}} (the variable %s), or name the subjects in the manifest: broker: {topics: [%s]}", targets.EnvTopic, strings.Join(quoted(outside), ", "))), true
	case len(inside) > 0:
		return wrong(fmt.Sprintf("a message was published to %s, and the broker did not keep it", strings.Join(quoted(inside), ", ")),
			"see what the broker answered"), true
	}
	return Step{}, false
}

func (x *sight) publishedBy(subject string) string {
	for _, m := range x.facts.Published {
		if m.Subject == subject {
			return "a message of " + properties.InstanceOf(m.Link)
		}
	}
	return "a message"
}

// past tells of connections that came past the proxies.
func (x *sight) past() string {
	if len(x.bypassed) == 0 {
		return ""
	}
	return "; past the proxies came " + strings.Join(x.bypassed, ", ")
}

// takes reports whether a stream with these subjects takes a message; the wildcards
// are those of NATS.
func takes(patterns []string, subject string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		want, got := strings.Split(pattern, "."), strings.Split(subject, ".")
		for i, token := range want {
			switch {
			case token == ">":
				return len(got) > i
			case i >= len(got), token != "*" && token != got[i]:
				return false
			}
		}
		return len(want) == len(got)
	})
}

func quoted(list []string) []string {
	var out []string
	for _, text := range list {
		out = append(out, fmt.Sprintf("%q", text))
	}
	return out
}
