package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/properties"
)

// Publishes returns the first exchange by which a role of the target publishes,
// as a cell that breaks it: the start of the runs with a second fault, when no
// more of them are asked for.
func Publishes(cells []Cell) []Cell {
	var list []Cell
	seen := map[string]bool{}
	for _, c := range cells {
		p := c.Fault.At
		if c.Fault.Do == faults.Cut && p.Label == "publish" && p.N == 1 && p.Moment != faults.After && !seen[p.String()] {
			seen[p.String()] = true
			list = append(list, c)
		}
	}
	return list
}

// first is a kind of first fault: a fault without its occurrence, its replica
// and what it drops.
type first struct {
	do      faults.Kind
	role    string
	server  faults.Server
	label   string
	moment  faults.Moment
	restart faults.Restart
}

// Firsts returns one cell for every kind of first fault: of the cells that
// differ only in the occurrence, the replica, the run or the messages that they
// drop, the one of the stepwise run that comes first. They are likeliest first
// and at most bound; a bound of 0 is none, and tells how many there are.
func Firsts(cells []Cell, bound int) []Cell {
	best := map[first]int{}
	var list []Cell
	for _, c := range cells {
		f := c.Fault
		if f.At == nil || f.Do == faults.Hold { // nothing to recover from
			continue
		}
		k := first{f.Do, f.At.Link.Role, f.At.Link.Server, f.At.Label, f.At.Moment, f.Then.Restart}
		at, known := best[k]
		switch {
		case !known:
			best[k] = len(list)
			list = append(list, c)
		case plainer(c, list[at]):
			list[at] = c
		}
	}
	Likeliest(list)
	if bound > 0 && len(list) > bound {
		list = list[:bound]
	}
	return list
}

// plainer reports whether a stands for its kind of fault better than b.
func plainer(a, b Cell) bool {
	elsewhere := func(c Cell) int {
		if c.Run == RunStepwise {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(elsewhere(a), elsewhere(b)),
		cmp.Compare(len(a.Fault.Drop), len(b.Fault.Drop)),
		cmp.Compare(a.Fault.At.N, b.Fault.At.N),
	) < 0
}

// Recovery derives the second faults of a trial whose first fault has fired,
// from that trial's history, at most bound of them. While the role recovers,
// whichever of its instances works on: a kill at each of its next exchanges
// that matter; and when the first fault broke a connection, the same again at
// the next exchange of that label, and at the next reconnect of that link. Each
// cell's scenario has both faults.
func Recovery(rec Recording, bound int) []Cell {
	if len(rec.Run.Scenario.Faults) == 0 {
		return nil
	}
	struck, at, ok := strike(rec.History)
	if !ok {
		return nil
	}
	d := newDeriver(rec, Options{})
	first := rec.Run.Scenario.Faults[0]
	if first.Do == faults.Cut || first.Do == faults.Hang {
		d.again(first, struck, at)
	}
	for i, e := range d.all {
		if e.link.Role == struck.Role && e.sent > at && !e.idle() && !setup(e.label) && len(d.cells) < bound {
			d.add(faults.Fault{At: e.point(e.processed(), d.shared[e.link.Role]), Do: faults.Kill}, d.rankKill(i, e))
		}
	}
	if len(d.cells) > bound {
		d.cells = d.cells[:bound]
	}
	for i := range d.cells {
		d.cells[i].Run = fmt.Sprintf("%s, after %s", rec.Run.Name, first)
	}
	return d.cells
}

// strike finds whom the first fault struck, and its place in the history. Of an
// instance the link has no server.
func strike(history []properties.Event) (on faults.Link, at int, ok bool) {
	at = slices.IndexFunc(history, func(e properties.Event) bool { return e.Fault != nil && e.Fault.What == "fired" })
	if at < 0 {
		return on, at, false
	}
	var err error
	if text := history[at].Fault.On; strings.Contains(text, "/") {
		on, err = faults.ParseLink(text)
	} else {
		on.Instance, err = faults.ParseInstance(text)
	}
	return on, at, err == nil
}

// again adds the first fault once more: where its link tries again what was
// broken, and where it connects again.
func (d *deriver) again(first faults.Fault, struck faults.Link, at int) {
	retried, reconnected := false, false
	for _, e := range d.all {
		if e.sent < at || e.link != struck {
			continue
		}
		shared := d.shared[e.link.Role]
		if !reconnected && e.label == "connect" {
			reconnected = true
			d.add(faults.Fault{At: e.point(e.processed(), shared), Do: first.Do}, rankBreak)
		}
		if first.At != nil && !retried && e.label == first.At.Label && slices.Contains(e.moments(), first.At.Moment) {
			retried = true
			d.add(faults.Fault{At: e.point(first.At.Moment, shared), Do: first.Do}, e.rankBreak(first.At.Moment))
		}
	}
}

// processed is the moment of the exchange at which its request has done all
// that it can and the client does not know: what a kill leaves there, it leaves
// at every moment until the instance's next request.
func (e exchange) processed() faults.Moment {
	if e.shape == twoWay {
		return faults.Unanswered
	}
	return faults.After
}
