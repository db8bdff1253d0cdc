package search

import (
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
)

// deriver collects the cells of one recording.
type deriver struct {
	rec     Recording
	options Options
	shared  map[string]bool // roles with several replicas
	all     []exchange
	cells   []Cell
	seen    map[string]bool
	skipped map[string]bool
	omitted []Omitted
	// elsewhere is why the exchange under way is visited in another run; empty
	// when it is not.
	elsewhere string
}

func newDeriver(rec Recording, o Options) *deriver {
	d := &deriver{rec: rec, options: o, shared: map[string]bool{}, all: exchanges(rec.History), seen: map[string]bool{}, skipped: map[string]bool{}}
	for _, e := range d.all {
		if e.link.Index > 0 && e.link.Role == "relay" {
			d.shared["relay"] = true
		}
	}
	return d
}

// Cells derives the cells of a recorded run, likeliest first, and those that
// were left out and why.
func Cells(rec Recording, o Options) ([]Cell, []Omitted) {
	d := newDeriver(rec, o)
	begun := overlapBegins(rec)
	for i, e := range d.all {
		switch {
		case startsAsStepwise(rec.Run.Name, e):
			d.elsewhere = ReasonStart
		case rec.Run.Name == RunReplicas && e.link.Role != "relay":
			d.elsewhere = ReasonRelays
		case e.sent < begun:
			d.elsewhere = ReasonBeforeOverlap
		default:
			d.elsewhere = ""
		}
		if o.wants(faults.Kill) {
			d.kills(i, e)
		}
		for _, kind := range []faults.Kind{faults.Cut, faults.Hang} {
			if o.wants(kind) {
				d.breaks(kind, e)
			}
		}
	}
	d.elsewhere = ""
	if o.wants(faults.Hold) {
		d.lateCommits()
	}
	d.segments()
	Likeliest(d.cells)
	// Of two exchanges that share a name one may be visited and the other not.
	d.omitted = slices.DeleteFunc(d.omitted, func(o Omitted) bool { return d.seen[o.Fault.String()] })
	return d.cells, d.omitted
}

func (d *deriver) add(f faults.Fault, rank int) {
	if !d.options.names(f) {
		return
	}
	if d.elsewhere != "" && !d.options.Everything {
		d.skip(f, d.elsewhere)
		return
	}
	// Replicas that share a point share its cells.
	if key := f.String(); d.seen[key] {
		return
	} else {
		d.seen[key] = true
	}
	s := d.rec.Run.Scenario
	s.Faults = append(append([]faults.Fault(nil), s.Faults...), f)
	d.cells = append(d.cells, Cell{Run: d.rec.Run.Name, Fault: f, Scenario: s, Rank: rank})
}

// skip keeps a cell among those left out; with Everything it is visited all the
// same, last.
func (d *deriver) skip(f faults.Fault, reason string) {
	key := f.String()
	switch {
	case d.options.Everything:
		d.add(f, rankRest)
	case d.options.names(f) && !d.skipped[key]:
		d.skipped[key] = true
		d.omitted = append(d.omitted, Omitted{d.rec.Run.Name, f, reason})
	}
}

// setup reports whether an exchange only prepares: it changes nothing on a
// server that outlives the connection.
func setup(label string) bool {
	switch label {
	case "connect", "set", "show", "listen", "unlisten", "discard", "deallocate", "pull", "begin":
		return true
	}
	return strings.HasPrefix(label, "api ")
}

// startsAsStepwise reports whether the exchange sets a process up as it does in
// the stepwise run, on tables that are as new.
func startsAsStepwise(run string, e exchange) bool {
	if !setup(e.label) {
		return false
	}
	switch run {
	case RunReplicas:
		return true
	case RunBatch:
		return e.link.Role != "relay" // these start with the orders there
	case RunOverlap:
		return e.link.Role == "consumer"
	}
	return false
}

// breaks derives the cells of a fault on the connection. The client lives on,
// so each moment is another state of its own code.
func (d *deriver) breaks(kind faults.Kind, e exchange) {
	for _, m := range e.moments() {
		f := faults.Fault{At: e.point(m, d.shared[e.link.Role]), Do: kind}
		switch {
		case e.idle() && e.n > 1:
			d.skip(f, ReasonIdle)
		case e.label != "begin" && setup(e.label) && e.n > 1:
			d.skip(f, ReasonSetup)
		case m == faults.After && e.open:
			d.skip(f, ReasonNext)
		default:
			d.add(f, e.rankBreak(m))
		}
	}
}
