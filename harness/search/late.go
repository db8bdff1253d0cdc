package search

import (
	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/properties"
)

// lateCommits derives the cells in which the late commit of an overlap lands
// between two statements of a relay: before each of the relay's requests to
// Postgres that matter, while the early order is under way. The recorded run
// lets the late commit go when the relay has done with the early order; what a
// relay reads in one statement and writes in the next may have changed between.
// Only what Postgres answers can tell a relay of the commit, so its exchanges
// with the broker need no cells of their own.
func (d *deriver) lateCommits() {
	begun := overlapBegins(d.rec)
	until, sent := lateCommit(d.rec.History, begun)
	if until == nil {
		return
	}
	for _, e := range d.all {
		if e.link.Role != "relay" || e.link.Server != faults.Postgres || e.sent < begun || e.sent > sent {
			continue
		}
		if e.idle() || e.blind || setup(e.label) {
			continue
		}
		d.add(faults.Fault{At: e.point(faults.Before, d.shared[e.link.Role]), Do: faults.Hold, Until: until}, rankLate)
	}
}

// lateCommit finds the commit that an overlap kept back, and its place in the
// history: the first that the app sends which was asked for the late order,
// whether it is the target's own or played by the harness. Nil when the run has
// no overlap, or its app ends no transaction by itself.
func lateCommit(history []properties.Event, begun int) (done *faults.Point, sent int) {
	if begun == 0 {
		return nil, 0
	}
	app := history[begun].Call.Instance
	for at, e := range history[begun:] {
		w := e.Wire
		if w == nil || w.What != properties.WireRequest || w.Label != "commit" {
			continue
		}
		if link, err := faults.ParseLink(w.Link); err == nil && link.Instance.String() == app && link.Server == faults.Postgres {
			return &faults.Point{Link: link, Label: w.Label, N: w.N, Moment: faults.After}, begun + at
		}
	}
	return nil, 0
}
