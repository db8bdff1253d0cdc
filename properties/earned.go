package properties

import (
	"fmt"
	"slices"
	"strings"
)

// Earned returns the reasons why a history without a violation does not earn a
// pass; empty when it does. A fault-free run must have used everything that
// the rules read. A run with faults must have done each of them.
func Earned(h []Event) []string {
	if broken := checkItself(h); len(broken) > 0 {
		return broken
	}
	var reasons []string
	if why := guard("asking whether a pass was earned", func() { reasons = newIndex(h).unearned() }); why != "" {
		reasons = append(reasons, why)
	}
	return reasons
}

func (ix *index) unearned() []string {
	reasons := ix.undone()
	if why := ix.lostByLog(); why != "" {
		reasons = append(reasons, why)
	}
	if len(ix.trial.Faults) > 0 {
		return append(reasons, ix.skipped()...)
	}
	reasons = append(reasons, ix.emptyLedgers()...)
	reasons = append(reasons, ix.unfound()...)
	reasons = append(reasons, ix.unproxied()...)
	return reasons
}

// undone says which planned faults were not done as planned.
func (ix *index) undone() []string {
	var reasons []string
	told := 0
	for _, f := range ix.faults {
		switch {
		case f.notFired != nil:
			reasons = append(reasons, because(f.text+" did not fire", f.why))
			told++
		case f.fired == nil:
			continue
		case f.do == "hold" && (f.released == nil || f.why != ""):
			reasons = append(reasons, because(f.text+" was not released by its point", f.why))
			told++
		default:
			told++
		}
	}
	if told < len(ix.trial.Faults) {
		reasons = append(reasons, fmt.Sprintf("%d faults were planned, and the history tells of %d", len(ix.trial.Faults), told))
	}
	return reasons
}

// skipped says what a run with faults left out that no fault can be the reason of.
// What its ledgers have to hold depends on the faults; that the fault-free run of the
// same workload used them is known.
func (ix *index) skipped() []string {
	var reasons []string
	if ix.drain == nil {
		reasons = append(reasons, "the trial did not wait for the outbox to drain")
	}
	for _, order := range slices.Concat(ix.trial.Orders, ix.trial.Aborts) {
		if ix.calls[order] == nil {
			reasons = append(reasons, order+" was never asked for")
		}
	}
	if len(ix.bypassed) > 0 {
		reasons = append(reasons, bypassing)
	}
	return reasons
}

const bypassing = "connections came past the proxies: an address other than the one handed to the target is in use"

func (ix *index) emptyLedgers() []string {
	var reasons []string
	if len(ix.final.committed.Ledger.Committed) == 0 && len(ix.committed) == 0 {
		reasons = append(reasons, "the committed ledger is empty: the manifest's committed query finds no order")
	}
	switch {
	case len(ix.final.log.Ledger.Log) > 0:
	case ix.others > 0:
		reasons = append(reasons, fmt.Sprintf("the when rule of the manifest leaves all %d messages of the log out: no event was read", ix.others))
	default:
		reasons = append(reasons, "the broker's log is empty: no event reached the place where the manifest looks for them")
	}
	if len(ix.unread) > 0 {
		reasons = append(reasons, "the log holds messages whose order could not be read: "+ix.unread[0].Unread)
	}
	for _, consumer := range ix.trial.Consumers {
		if !slices.ContainsFunc(ix.final.applied.Ledger.Applied, func(a Effect) bool {
			return a.Consumer == consumer && a.Count > 0
		}) {
			reasons = append(reasons, consumer+" applied nothing: it did not run, or the applied query does not find its effects")
		}
	}
	if len(ix.trial.Consumers) == 0 {
		reasons = append(reasons, "no consumer's effects were read")
	}
	return reasons
}

// unfound says which orders that the app accepted are not where the manifest
// says. Losses that are proved are left to their rule.
func (ix *index) unfound() []string {
	lost := judgeLost(ix).violations
	var reasons []string
	accepted := 0
	for _, order := range ix.trial.Orders {
		a := ix.answers[order]
		if a == nil || a.Answer.Outcome != OK {
			continue
		}
		accepted++
		if _, ok := ix.committed[order]; !ok {
			reasons = append(reasons, order+" was answered ok and is in no committed reading: the committed query does not find it")
			continue
		}
		proved := slices.ContainsFunc(lost, func(v Violation) bool { return v.Order == order })
		if len(ix.byOrder[order]) == 0 && !proved {
			reasons = append(reasons, order+" was answered ok and no event of it could be read from the log")
		}
	}
	if accepted == 0 {
		reasons = append(reasons, "no order was answered ok")
	}
	return reasons
}

// unproxied says what may have passed where neither a fault nor the history
// reaches.
func (ix *index) unproxied() []string {
	var reasons []string
	if ix.backends == 0 {
		reasons = append(reasons, "the servers were not asked for connections that came past the proxies")
	}
	if len(ix.bypassed) > 0 {
		reasons = append(reasons, bypassing)
	}
	if links := ix.opaqueLinks("", ""); len(links) > 0 {
		reasons = append(reasons, strings.Join(links, ", ")+" could not be read: turn TLS off for the trial")
	}
	expected := [][2]string{{"app", "postgres"}, {"relay", "postgres"}, {"relay", "broker"}}
	if ix.relayInApp {
		expected = [][2]string{{"app", "postgres"}, {"app", "broker"}}
	}
	if slices.Contains(ix.trial.Roles, "consumer") {
		expected = append(expected, [2]string{"consumer", "broker"})
	}
	for _, e := range expected {
		if !ix.carried(e[0], e[1]) {
			reasons = append(reasons, fmt.Sprintf("nothing passed between the %s and the %s proxy: it did not run, or it uses another address", e[0], e[1]))
		}
	}
	if commits := ix.appCommits(); commits < len(ix.committed) {
		reasons = append(reasons, fmt.Sprintf("%d orders are committed and only %d commits were seen on the app's links: the others were written past the proxies",
			len(ix.committed), commits))
	}
	published := map[string]bool{}
	for _, x := range ix.exchanges {
		if x.publishes() {
			for _, order := range x.orders() {
				published[order] = true
			}
		}
	}
	for _, order := range ix.placed() {
		if len(ix.byOrder[order]) > 0 && !published[order] {
			reasons = append(reasons, "an event of "+order+" is in the log and was seen on no link: it was published past the proxies")
		}
	}
	return reasons
}

// appCommits counts what committed, or may have, on the app's links.
func (ix *index) appCommits() int {
	n := 0
	for _, x := range ix.exchanges {
		if RoleOf(x.conn.link) == "app" && ServerOf(x.conn.link) == "postgres" && (x.committed() || x.done() == nil) {
			n++
		}
	}
	return n
}
