package properties

import (
	"fmt"
	"slices"
)

func appliedOnce() Rule {
	return Rule{
		Name:   AppliedOnce,
		Always: true,
		About: "Every consumer applies every event of the log exactly once, however often the event was delivered; events are " +
			"told apart by their ids. More than one effect is always a violation. No effect is one only when the broker " +
			"holds nothing more for the consumer, neither waiting nor unacknowledged, and the consumer had its grace. An order " +
			"that has more event ids than in a run of the same workload without faults was published again under a new id: no " +
			"consumer can know such a repeat. An event that never reached the log belongs to no-lost-event.",
		judge: judgeApplied,
	}
}

// identified is what the log says of one event id.
type identified struct {
	id     string
	order  string // empty when it could not be read
	first  *Event // the first reading that holds it
	shared bool   // the id is on events of more than one order
}

func judgeApplied(ix *index) finding {
	var f finding
	if len(ix.trial.Consumers) == 0 {
		f.unknown("the target names no consumer, so no effect can be judged")
	}
	ids := ix.identified(&f)
	effects := map[Effect]int{} // by id and consumer, Count left zero
	total := 0
	strange := false
	for _, a := range ix.final.applied.Ledger.Applied {
		effects[Effect{EventID: a.EventID, Consumer: a.Consumer}] += a.Count
		total += a.Count
		if !slices.Contains(ix.trial.Consumers, a.Consumer) {
			f.unknown(fmt.Sprintf("the applied ledger names the consumer %q, which the manifest does not", a.Consumer))
			strange = true
		}
		if !slices.ContainsFunc(ids, func(i identified) bool { return i.id == a.EventID }) && !ix.logLost {
			f.unknown("the applied ledger holds event ids that are not in the log: the manifest's id rule and its applied query do not agree")
			strange = true
		}
	}
	for _, event := range ids {
		what := "an event whose order could not be read"
		if event.order != "" {
			what = "the event of " + event.order
		}
		for _, consumer := range ix.trial.Consumers {
			n := effects[Effect{EventID: event.id, Consumer: consumer}]
			v := Violation{Order: event.order, EventID: event.id, Consumer: consumer}
			switch {
			case n == 1:
				continue
			case event.shared:
				f.unknown("one event id stands for events of different orders: the manifest's id rule does not tell events apart")
				continue
			case n > 1:
				v.Summary = fmt.Sprintf("%s applied %s more than once", consumer, what)
			default:
				why := ix.mayStillApply(event, consumer)
				switch {
				case total == 0 && ix.trial.Baseline == nil:
					why = "no consumer applied anything: the applied query may look at the wrong place"
				case strange:
					why = "the applied ledger holds effects that belong to no known event and consumer"
				}
				if why != "" {
					f.unknown(fmt.Sprintf("%s has not applied %s, but %s", consumer, what, why))
					continue
				}
				v.Summary = fmt.Sprintf("%s never applied %s", consumer, what)
			}
			v.Evidence = ix.evidence(event.order, event.id, ix.appliedFacts(event, consumer, n))
			f.violations = append(f.violations, v)
		}
	}
	f.violations = append(f.violations, ix.renamed()...)
	return f
}

// renamed finds the orders whose events came again under another id.
func (ix *index) renamed() []Violation {
	if ix.trial.Baseline == nil {
		return nil
	}
	var list []Violation
	ids := ix.idsOfOrders()
	for _, order := range ix.placed() {
		usual := ix.trial.Baseline.Events[order]
		if usual == 0 || ids[order] <= usual {
			continue
		}
		facts := []string{fmt.Sprintf("the log holds %d event ids of %s; without faults it holds %d", ids[order], order, usual)}
		for _, l := range ix.log {
			if l.order == order {
				facts = append(facts, fmt.Sprintf("position %d has the id %s", l.Position, l.EventID))
			}
		}
		summary := "the event of " + order + " was published again under another id, so that no consumer can know the repeat"
		if rows := ix.rows(order); rows > 1 {
			summary = fmt.Sprintf("%s was asked for once and committed %d times, with an event for each, so that no consumer can know the repeat", order, rows)
			facts = append(facts, fmt.Sprintf("the final committed ledger holds %d rows of %s", rows, order))
		}
		list = append(list, Violation{
			Summary:  summary,
			Order:    order,
			Evidence: ix.evidence(order, "", facts),
		})
	}
	return list
}

// rows counts the rows of an order that are committed at the end.
func (ix *index) rows(order string) int {
	n := 0
	for _, row := range ix.final.committed.Ledger.Committed {
		if row.Order == order {
			n++
		}
	}
	return n
}

// identified lists the event ids of the log, in the order of their positions.
func (ix *index) identified(f *finding) []identified {
	var ids []identified
	at := map[string]int{}
	for _, l := range ix.log {
		if l.EventID == "" {
			f.unknown("the log holds events without an id: the manifest's id rule does not find it")
			continue
		}
		i, known := at[l.EventID]
		if !known {
			at[l.EventID] = len(ids)
			ids = append(ids, identified{id: l.EventID, order: l.order, first: l.event})
			continue
		}
		if l.order != ids[i].order {
			ids[i].shared = true
		}
	}
	return ids
}

// mayStillApply says why a missing effect is no proof that it will never come;
// empty when it is one.
func (ix *index) mayStillApply(event identified, consumer string) string {
	if !ix.inFinalLog(event.id) {
		return "the final log does not hold the event: the broker's loss"
	}
	if why := ix.settled("consumer"); why != "" {
		return why
	}
	if !ix.drain.Drain.Consumers {
		return because("the consumer did not have its grace", ix.drain.Drain.Grace)
	}
	if ix.stoodStill() {
		return "the consumer did not have its grace " + sinceStall
	}
	b := ix.broker
	if b == nil || len(b.Ledger.Broker) == 0 {
		return "nothing tells what the broker still holds for the consumer"
	}
	if !b.Ledger.Final && b.Seq < ix.reached(event) {
		return "the event came after the last look at what the broker still holds"
	}
	own := func(l Backlog) bool { return l.Consumer == consumer }
	all := !slices.ContainsFunc(b.Ledger.Broker, own)
	for _, l := range b.Ledger.Broker {
		if (all || own(l)) && l.Holds() {
			return "the broker still holds something for the consumer"
		}
	}
	return ""
}

func (ix *index) inFinalLog(id string) bool {
	return slices.ContainsFunc(ix.final.log.Ledger.Log, func(m Message) bool { return m.EventID == id })
}

// reached returns the seq by which the event is known to be at the broker.
func (ix *index) reached(event identified) int {
	seq := event.first.Seq
	for _, x := range ix.exchanges {
		if x.publishes() && x.acknowledged() && x.mayHave(event) {
			seq = min(seq, x.done().Seq)
		}
		if x.push != nil && x.has(event.id) {
			seq = min(seq, x.push.Seq)
		}
	}
	return seq
}

// mayHave reports whether its message carries the event, by its id or, where an
// id could not be read, by its order.
func (x *exchange) mayHave(event identified) bool {
	return x.has(event.id) || event.order != "" && slices.Contains(x.carries, Carried{Order: event.order})
}

func (ix *index) appliedFacts(event identified, consumer string, n int) []string {
	facts := []string{fmt.Sprintf("the final applied ledger holds %d effects of %s for this event", n, consumer)}
	for _, other := range ix.trial.Consumers {
		if other == consumer {
			continue
		}
		count := 0
		for _, a := range ix.final.applied.Ledger.Applied {
			if a.EventID == event.id && a.Consumer == other {
				count += a.Count
			}
		}
		facts = append(facts, fmt.Sprintf("and %d of %s", count, other))
	}
	for _, l := range ix.log {
		if l.EventID == event.id {
			facts = append(facts, fmt.Sprintf("the log holds the event at position %d, first read at %s", l.Position, at(l.event)))
		}
	}
	if n == 0 {
		for _, b := range ix.broker.Ledger.Broker {
			facts = append(facts, fmt.Sprintf("the broker holds %d waiting and %d unacknowledged for %s", b.Pending, b.Unacked, b.Consumer))
		}
	}
	return facts
}
