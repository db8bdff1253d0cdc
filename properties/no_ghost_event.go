package properties

import (
	"fmt"
	"slices"
	"strings"
)

func noGhostEvent() Rule {
	return Rule{
		Name:   NoGhostEvent,
		Always: true,
		About: "No event exists without a committed order. An event is a ghost when its order is in no committed reading of " +
			"the whole trial and its commit cannot have happened unseen: no transaction was seen to commit on an app link " +
			"while the order was being placed, and no commit was delivered there whose end was not seen; a transaction that only " +
			"changed other tables does not count, where the fault-free run shows which table the app writes orders to. An order that is " +
			"archived or deleted later makes no ghost. The app's answer, ok or failed, decides nothing.",
		judge: judgeGhost,
	}
}

func judgeGhost(ix *index) finding {
	var f finding
	for _, order := range ix.strangers {
		if slices.Contains(ix.placed(), order) {
			f.unknown(fmt.Sprintf("the log holds an event of %s, which was planned and never asked for", order))
			continue
		}
		f.unknown("the log holds an event for an order that the trial never placed")
	}
	if len(ix.unread) > 0 {
		f.unknown("the log holds messages whose order could not be read: " + ix.unread[0].Unread)
	}
	for _, order := range ix.placed() {
		if _, ok := ix.committed[order]; ok || len(ix.byOrder[order]) == 0 {
			continue
		}
		excuse, deleted := ix.notGhost(order)
		if deleted {
			continue
		}
		if excuse != "" {
			f.unknown(fmt.Sprintf("the log holds an event of %s and no reading shows its row, but %s", order, excuse))
			continue
		}
		summary := "the broker's log holds an event of " + order + ", which never committed"
		if ix.calls[order].Call.Op == "abort" {
			summary = "the broker's log holds an event of " + order + ", which the business rolled back"
		}
		first := ix.byOrder[order][0]
		f.violations = append(f.violations, Violation{
			Summary:  summary,
			Order:    order,
			EventID:  first.EventID,
			Evidence: ix.evidence(order, "", ix.ghostFacts(order)),
		})
	}
	return f
}

// notGhost says why an event without a row may yet have had its commit; empty
// when it had none. deleted tells that the commit was seen and that this
// target removes rows, so nothing is wrong.
func (ix *index) notGhost(order string) (excuse string, deleted bool) {
	switch {
	case len(ix.opaqueLinks("app", "postgres")) > 0:
		return fmt.Sprintf("%s could not be read, so its commit may have passed unseen", strings.Join(ix.opaqueLinks("app", "postgres"), ", ")), false
	case len(ix.bypassed) > 0:
		return "connections came past the proxies, so its commit may have passed unseen", false
	case !ix.carried("app", "postgres"):
		return "the app was never seen to talk to Postgres, so its commit may have passed unseen", false
	}
	p := ix.placing(order)
	p.done, p.maybe = slices.DeleteFunc(p.done, ix.foreign), slices.DeleteFunc(p.maybe, ix.foreign)
	switch {
	case len(p.done) > 0 && !p.others && ix.deletes && ix.calls[order].Call.Op == "place":
		return "", true
	case len(p.done) > 0 && p.others:
		return "a transaction committed on the app's link at that time, perhaps not its own", false
	case len(p.done) > 0:
		return "a transaction committed on the app's link while it was placed: either the row was removed before it was read, or the commit was of something else", false
	case len(p.maybe) > 0:
		return fmt.Sprintf("%q was delivered on the app's link and its end was never seen", p.maybe[0].label), false
	}
	return "", false
}

func (ix *index) ghostFacts(order string) []string {
	what := "no transaction"
	if ix.orderWrites {
		what += " with a change of " + ix.trial.OrderTable
	}
	facts := []string{
		order + " is in no committed reading of the trial",
		what + " was seen to commit on an app link while " + order + " was placed, and no commit was left without an end",
	}
	for _, l := range ix.byOrder[order] {
		facts = append(facts, fmt.Sprintf("the log holds an event of %s at position %d, first read at %s", order, l.Position, at(l.event)))
	}
	return facts
}
