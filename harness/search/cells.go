package search

import (
	"fmt"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
)

// Cell is a point and a fault of one recorded run: the unit of coverage.
type Cell struct {
	Run      string
	Fault    faults.Fault
	Scenario scenario.Scenario
	// Rank orders the cells: likeliest to show a bug first, by rules that know
	// no target.
	Rank int
}

func (c Cell) String() string { return c.Run + ": " + c.Fault.String() }

// LeftOut counts the cells that were left out for one reason.
type LeftOut struct {
	Reason string `json:"reason"`
	Cells  int    `json:"cells"`
}

// The reasons for leaving a cell out. Each is written down in docs/coverage.md
// with the test whose bug would hide there.
const (
	ReasonIdle       = "an idle poll after the first: the same state again"
	ReasonSetup      = "asking for deliveries or setting the session up, after the first: changes nothing on a server"
	ReasonNext       = "a connection broken after a reply, inside a transaction: the client learns of it at its next request, which is visited"
	ReasonBeside     = "lost on a second connection to the same server: which comes first is the schedule's choice"
	ReasonRecovery   = "a second fault during a recovery that took another course, three times"
	ReasonConvicted  = "the same point and fault, with another order, is convicted already"
	ReasonEquivalent = "equivalent for a kill: the servers have seen the same messages as at a cell that is visited"
)

// Reasons lists the reasons, in the order of the docs.
func Reasons() []string {
	return []string{ReasonIdle, ReasonSetup, ReasonEquivalent, ReasonNext, ReasonBeside, ReasonRecovery, ReasonConvicted}
}

// Options say which cells are wanted.
type Options struct {
	// Faults are the kinds of fault; nil means kill and cut.
	Faults []faults.Kind
	// Points keeps the cells whose point contains the text.
	Points string
	// Everything visits also what the rules leave out; for the tests of the rules.
	Everything bool
}

func (o Options) wants(k faults.Kind) bool {
	if o.Faults == nil {
		return k == faults.Kill || k == faults.Cut
	}
	for _, f := range o.Faults {
		if f == k {
			return true
		}
	}
	return false
}

// deriver collects the cells of one recording.
type deriver struct {
	rec     Recording
	options Options
	shared  map[string]bool // roles with several replicas
	all     []exchange
	cells   []Cell
	seen    map[string]bool
	left    map[string]int
}

func newDeriver(rec Recording, o Options) *deriver {
	d := &deriver{rec: rec, options: o, shared: map[string]bool{}, all: exchanges(rec.History), seen: map[string]bool{}, left: map[string]int{}}
	for _, e := range d.all {
		if e.link.Index > 0 && e.link.Role == "relay" {
			d.shared["relay"] = true
		}
	}
	return d
}

// Cells derives the cells of a recorded run, likeliest first, and what was
// left out and why.
func Cells(rec Recording, o Options) ([]Cell, []LeftOut) {
	d := newDeriver(rec, o)
	for i, e := range d.all {
		if o.wants(faults.Kill) {
			d.kills(i, e)
		}
		for _, kind := range []faults.Kind{faults.Cut, faults.Hang} {
			if o.wants(kind) {
				d.breaks(kind, e)
			}
		}
	}
	Likeliest(d.cells)
	var left []LeftOut
	for _, reason := range Reasons() {
		if n := d.left[reason]; n > 0 {
			left = append(left, LeftOut{reason, n})
		}
	}
	return d.cells, left
}

func (d *deriver) add(f faults.Fault, rank int) {
	if d.options.Points != "" && !strings.Contains(f.At.String(), d.options.Points) {
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

// skip counts a cell that is left out; with Everything it is visited all the
// same, last.
func (d *deriver) skip(f faults.Fault, reason string) {
	if d.options.Everything {
		d.add(f, rankRest)
		return
	}
	d.left[reason]++
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

// kills derives the cells of a kill. All that a kill leaves is what the servers
// have received: of the moments between two messages that a server acts on,
// one stands for all.
func (d *deriver) kills(i int, e exchange) {
	shared := d.shared[e.link.Role]
	representative := faults.Unanswered
	if e.shape != twoWay {
		representative = faults.After
	}
	acts := !e.idle() && !setup(e.label)
	for _, m := range e.moments() {
		f := faults.Fault{At: e.point(m, shared), Do: faults.Kill}
		switch {
		case e.idle() && e.n > 1:
			d.skip(f, ReasonIdle)
		case !acts && !(e.n == 1 && m == representative):
			d.skip(f, ReasonEquivalent)
		case m == representative || m == faults.Before && d.first(i):
			d.kill(i, e, f)
		default:
			d.skip(f, ReasonEquivalent)
		}
	}
}

// kill adds a kill, and its variants: with the messages in flight on the
// instance's other connections dropped, and with the dead process's backends
// lingering where they hold a transaction open.
func (d *deriver) kill(i int, e exchange, f faults.Fault) {
	d.add(f, d.rankKill(i, e))
	for _, lost := range d.inFlight(e, f.At.Moment) {
		dropped := f
		dropped.Drop = []faults.Point{*lost.point(faults.Before, d.shared[lost.link.Role])}
		if lost.link == e.link {
			d.skip(dropped, ReasonBeside)
		} else {
			d.add(dropped, rankDrop)
		}
	}
	if e.inTransaction && f.At.Moment != faults.Before {
		lingering := f
		lingering.Then.Restart = faults.BackendsLinger
		d.add(lingering, rankLinger)
	}
}

// first reports whether no earlier exchange of the instance acts on a server.
func (d *deriver) first(i int) bool {
	for _, e := range d.all[:i] {
		if e.link.Instance == d.all[i].link.Instance && !e.idle() && !setup(e.label) {
			return false
		}
	}
	return true
}

// inFlight lists the messages that may not have arrived when the fault strikes:
// on each of the instance's other connections, what the client sent after it
// last heard from that server. Dropping one message drops all that follow it on
// its connection, so each stands for one prefix.
func (d *deriver) inFlight(e exchange, m faults.Moment) []exchange {
	const bound = 8
	moment := e.done
	if m == faults.Before {
		moment = e.sent
	}
	heard := map[int]int{}
	for _, x := range d.all {
		if x.link.Instance != e.link.Instance {
			continue
		}
		if x.shape != oneWay && x.done < moment {
			heard[x.conn] = max(heard[x.conn], x.done)
		}
	}
	var list []exchange
	for _, x := range d.all {
		if x.link.Instance != e.link.Instance || x.conn == e.conn || x.shape == push || setup(x.label) || x.blind {
			continue
		}
		answered := x.shape == twoWay && x.done < moment
		if x.sent < moment && x.sent > heard[x.conn] && !answered && len(list) < bound {
			list = append(list, x)
		}
	}
	return list
}

// Recovery derives the kills that strike after the first fault of a trial has
// fired, from that trial's history: a second fault while the instance recovers.
func Recovery(rec Recording, bound int) []Cell {
	fired := -1
	var role string
	for at, e := range rec.History {
		if e.Fault != nil && e.Fault.What == "fired" {
			fired = at
			role, _, _ = strings.Cut(e.Fault.On, ".")
			break
		}
	}
	if fired < 0 {
		return nil
	}
	d := newDeriver(rec, Options{})
	for i, e := range d.all {
		if e.link.Role == role && e.sent > fired && !e.idle() && !setup(e.label) && len(d.cells) < bound {
			m := faults.Unanswered
			if e.shape != twoWay {
				m = faults.After
			}
			d.add(faults.Fault{At: e.point(m, d.shared[e.link.Role]), Do: faults.Kill}, d.rankKill(i, e))
		}
	}
	for i := range d.cells {
		d.cells[i].Run = fmt.Sprintf("%s, after %s", rec.Run.Name, rec.Run.Scenario.Faults[0])
	}
	return d.cells
}

// Publishes returns the first exchange by which a role of the target publishes,
// as a cell that breaks it: the start of the runs with a second fault.
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
