package properties

import (
	"fmt"
	"slices"
	"strings"
)

func noLostEvent() Rule {
	return Rule{
		Name:   NoLostEvent,
		Always: true,
		About: "Every committed order has at least one event in the broker's log. An order counts as committed when any " +
			"reading of the trial shows its row, and as published when any reading of the log shows its event. A missing " +
			"event is a loss only when every fault was healed and either nothing was pending or ten times the promised " +
			"drain was spent in good health. An event that the broker acknowledged and no longer holds is the broker's " +
			"loss, and the verdict is unknown.",
		judge: judgeLost,
	}
}

func judgeLost(ix *index) finding {
	var f finding
	for _, order := range ix.placed() {
		if _, ok := ix.committed[order]; !ok || len(ix.byOrder[order]) > 0 {
			continue
		}
		if why := ix.notLost(order); why != "" {
			f.unknown(fmt.Sprintf("the event of %s is missing, but %s", order, why))
			continue
		}
		f.violations = append(f.violations, Violation{
			Summary:  order + " was committed and its event never reached the broker's log",
			Order:    order,
			Evidence: ix.evidence(order, "", ix.lostFacts(order)),
		})
	}
	return f
}

// notLost says why a missing event is no proof of a loss by the target; empty
// when it is one.
func (ix *index) notLost(order string) string {
	if why := ix.notFound(order); why != "" {
		return why
	}
	switch {
	case ix.logLost:
		return ix.lostByLog()
	case ix.brokerLost(order) && ix.deleted() != "":
		return "the broker acknowledged it and does not hold it, and " + ix.deleted() + " may have asked for that"
	case ix.brokerLost(order):
		return "the broker acknowledged it and does not hold it: the broker's loss"
	}
	if links := ix.opaqueLinks("", "broker"); len(links) > 0 {
		return fmt.Sprintf("%s could not be read, so the broker may have acknowledged it", strings.Join(links, ", "))
	}
	return ix.drained(order)
}

// notFound says why an order's event may be in the log all the same; empty when
// it is not.
func (ix *index) notFound(order string) string {
	switch {
	case ix.calls[order] == nil:
		return "the trial never placed it"
	case len(ix.unread) > 0:
		return "the log holds messages whose order could not be read: " + ix.unread[0].Unread
	case len(ix.byOrder) == 0 && ix.others > 0 && (ix.trial.Baseline == nil || ix.trial.Baseline.Events[order] == 0):
		return fmt.Sprintf("the when rule of the manifest leaves all %d messages of the log out", ix.others)
	case len(ix.strangers) > 0:
		return "the log holds events of orders that the trial never placed"
	}
	return ""
}

// brokerLost reports whether the broker confirmed an event of the order. A
// confirmation that names a position where the log holds another order's
// earlier event is none: the broker took the event for a repeat of that one,
// because the publisher named it so.
func (ix *index) brokerLost(order string) bool {
	for _, x := range ix.exchanges {
		if x.publishes() && x.isOf(order) && x.acknowledged() && ix.repeatOf(x, order) == "" {
			return true
		}
	}
	return false
}

// repeatOf returns the order whose event the broker took this publish, which is
// of another order, for a repeat of; empty when it did not, or when a server
// fault could have moved the positions.
func (ix *index) repeatOf(x *exchange, order string) string {
	if x.position == 0 || !x.acknowledged() {
		return ""
	}
	for _, f := range ix.faults {
		if f.do == "crash" || f.do == "failover" {
			return ""
		}
	}
	for _, earlier := range ix.exchanges {
		if !earlier.publishes() || !earlier.acknowledged() || earlier.position != x.position ||
			earlier.isOf(order) || earlier.done().Seq > x.done().Seq {
			continue
		}
		for _, other := range earlier.orders() {
			if slices.ContainsFunc(ix.byOrder[other], func(l logged) bool { return l.Position == x.position }) {
				return other
			}
		}
	}
	return ""
}

func (ix *index) lostFacts(order string) []string {
	var facts []string
	facts = append(facts, ix.committedFact(order), ix.logFact())
	published := false
	for _, x := range ix.exchanges {
		if !x.publishes() || !x.isOf(order) {
			continue
		}
		published = true
		if other := ix.repeatOf(x, order); other != "" {
			facts = append(facts, fmt.Sprintf("the broker acknowledged %s with the position of the event of %s: it was taken for a repeat", name(x), other))
		}
	}
	if !published {
		facts = append(facts, "no publish of "+order+" was seen on any link")
	}
	return facts
}
