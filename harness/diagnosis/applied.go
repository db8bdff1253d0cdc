package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/targets"
)

// applied: each consumer applied an event of the log.
func (x *sight) applied() Step {
	if step, failed := x.failed(Applied); failed {
		return step
	}
	var done, missing []string
	for _, consumer := range x.trial.Consumers {
		if x.effectOf(consumer) > 0 {
			done = append(done, consumer)
		} else {
			missing = append(missing, consumer)
		}
	}
	switch {
	case len(missing) > 0:
		return x.whyNotApplied(missing, done)
	case x.m.Consumer == nil:
		return fine(strings.Join(done, ", ") + ", the harness's own consumer")
	}
	return fine(strings.Join(done, ", "))
}

// whyNotApplied looks for what is wrong where an event is understood and its effect
// is not found.
func (x *sight) whyNotApplied(missing, done []string) Step {
	db, in := x.to(targets.RoleConsumer, postgres), x.to(targets.RoleConsumer, broker)
	wrong := func(what, mend string) Step {
		evidence := slices.Concat(x.effectsShown(), x.backlogShown(), x.carriedShown(targets.RoleConsumer, broker), x.carriedShown(targets.RoleConsumer, postgres), x.logOf(targets.RoleConsumer))
		return x.wrong(fmt.Sprintf("no effect of %s is seen: %s", strings.Join(missing, ", "), what), mend, evidence...)
	}
	if others := x.strangers(); len(others) > 0 {
		return wrong(fmt.Sprintf("the applied query returns the consumer %s, and the manifest names %s",
			strings.Join(quoted(others), ", "), strings.Join(quoted(x.trial.Consumers), ", ")),
			"spell consumer.names as the second column of the applied query does")
	}
	if ids := x.foreignIDs(missing); len(ids) > 0 {
		return wrong(fmt.Sprintf("the applied query returns the event id %q, and the log's is %q", bounded(ids[0]), bounded(x.log[0].EventID)),
			"have the first column of the applied query be what event.id finds: "+x.m.Event.ID)
	}
	switch delivered, acked := in.counts["deliver"] > 0, in.counts["ack"] > 0; {
	case in.opaque || db.opaque:
		return wrong("the consumer talks in a way that cannot be read", mendOpaque)
	case in.carried == 0:
		return wrong("nothing passed between the consumer and its proxy to the broker"+x.past(),
			"have it connect to the address that it is given: "+address(broker))
	case !delivered:
		return wrong("the consumer talked to the broker, and no message was delivered to it",
			fmt.Sprintf("have it make a JetStream consumer on the stream {{.Stream}} (the variable %s), for all subjects or for {{.Topic}}", targets.EnvStream))
	case db.carried == 0:
		return wrong("a message was delivered, and nothing passed between the consumer and its proxy to Postgres"+x.past(),
			"have it connect to the address that it is given: "+address(postgres))
	case len(db.writes) == 0 && db.ended == 0:
		return wrong("a message was delivered, and the consumer wrote nothing to Postgres", "see in its log what became of the message")
	case !acked && db.ended == 0:
		return wrong("a message was delivered, and the consumer neither committed nor acknowledged it", "see in its log what became of the message")
	}
	if len(done) > 0 {
		step := wrong(fmt.Sprintf("the applied query finds that of %s, and a message was delivered", strings.Join(done, ", ")),
			fmt.Sprintf("see why %s applies nothing where %s does, or how the applied query spells it: %s", strings.Join(missing, ", "), strings.Join(done, ", "), bounded(x.appliedQuery())))
		step.Outbox = step.State == Wrong
		return step
	}
	return wrong(fmt.Sprintf("a message was delivered, the consumer wrote into %s, and the applied query does not find that", orNothing(tables(db.writes))),
		"have the applied query return event id, consumer and the number of effects from where the consumer writes them: "+bounded(x.appliedQuery()))
}

func (x *sight) appliedQuery() string {
	if x.m.Consumer == nil {
		return ""
	}
	return x.m.Consumer.Applied
}

// strangers are consumers that applied and that the manifest does not name.
func (x *sight) strangers() []string {
	var names []string
	for _, e := range x.effects {
		if !slices.Contains(x.trial.Consumers, e.Consumer) {
			names = once(names, e.Consumer)
		}
	}
	return names
}

// foreignIDs are the ids of effects of these consumers that no event of the log has.
func (x *sight) foreignIDs(consumers []string) []string {
	var ids []string
	for _, e := range x.effects {
		if slices.Contains(consumers, e.Consumer) && !x.logged(e.EventID) {
			ids = once(ids, e.EventID)
		}
	}
	return ids
}

func (x *sight) effectsShown() []string {
	if len(x.effects) == 0 {
		return []string{"applied returned no row"}
	}
	var lines []string
	for _, e := range x.effects[:min(len(x.effects), 3)] {
		lines = append(lines, "applied returned: "+bounded(fmt.Sprintf("%s | %s | %d", e.EventID, e.Consumer, e.Count)))
	}
	return lines
}

func (x *sight) backlogShown() []string {
	if len(x.backlog) == 0 {
		return []string{"the stream has no JetStream consumer"}
	}
	var lines []string
	for _, b := range x.backlog[:min(len(x.backlog), 3)] {
		lines = append(lines, fmt.Sprintf("the broker's consumer %s: %d not delivered yet, %d delivered and not acknowledged", bounded(b.Consumer), b.Pending, b.Unacked))
	}
	return lines
}
