package properties

import (
	"regexp"
	"slices"
	"strings"
)

// A commit on the app's link excuses an event without a row: the row may have
// been removed before it was read. It excuses nothing when it cannot have been
// the order's, as where an outbox writes the event in one transaction and the
// order in another. Which commits those are is learnt from the fault-free run:
// where the app's own statements on the table that the committed query reads
// write every order's row, a transaction that only changes other tables commits
// no order.

var (
	// changesOneTable is a statement whose effect is on the table of its label.
	changesOneTable = regexp.MustCompile(`^(insert|update|delete) ([a-z0-9_]+)$`)
	// changesNothing is a statement that writes no row, nor calls what may.
	changesNothing = regexp.MustCompile(`^(connect|begin|start|set|show|listen|unlisten|notify|savepoint|release|commit|end|deallocate|discard|select( [a-z0-9_]+)?)$`)
)

// statements are the statements of the transaction that the exchange ended, as
// their labels name them.
func statements(end *exchange) []string {
	var list []string
	for _, x := range end.conn.exchanges {
		if x.request == nil {
			continue
		}
		list = append(list, strings.Split(strings.TrimSuffix(x.label, " idle"), "; ")...)
		if x == end {
			break
		}
		if d := x.done(); d != nil && d.Wire.Ended != "" {
			list = nil
		}
	}
	return list
}

// writesOrders reports whether a statement of the transaction changes the table
// of the orders.
func (ix *index) writesOrders(end *exchange) bool {
	return slices.ContainsFunc(statements(end), func(label string) bool {
		m := changesOneTable.FindStringSubmatch(label)
		return m != nil && m[1] != "delete" && m[2] == ix.trial.OrderTable
	})
}

// foreign reports whether the transaction that the exchange ended, or may have
// ended, cannot have committed an order.
func (ix *index) foreign(end *exchange) bool {
	if !ix.orderWrites {
		return false
	}
	for _, label := range statements(end) {
		m := changesOneTable.FindStringSubmatch(label)
		if m != nil && m[2] != ix.trial.OrderTable || m == nil && changesNothing.MatchString(label) {
			continue
		}
		return false
	}
	return true
}

// learnOrderWrites tells whether the app's own statements on the table of the
// orders write every order's row: by the baseline in a trial with faults, by the
// history itself without. One order whose row came in another way, by a trigger
// or by another process, and nothing is known.
func (ix *index) learnOrderWrites() bool {
	if ix.trial.OrderTable == "" {
		return false
	}
	if len(ix.trial.Faults) > 0 {
		return ix.trial.Baseline != nil && ix.trial.Baseline.OrderWrites
	}
	seen := false
	for _, order := range ix.placed() {
		_, committed := ix.committed[order]
		if call := ix.calls[order]; !committed || call == nil || call.Call.Op != "place" {
			continue
		}
		if !slices.ContainsFunc(ix.placing(order).done, ix.writesOrders) {
			return false
		}
		seen = true
	}
	return seen
}
