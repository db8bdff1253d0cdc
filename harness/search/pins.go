package search

import (
	"cmp"
	"slices"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// pinsMost bounds what one fault waits for, and what waits for it.
const pinsMost = 6

// pin is what one fault of a trial takes to meet the cut that it met: what had
// passed elsewhere, and what had not come yet.
type pin struct {
	fault int // its place in the scenario
	// holds keep a request ahead of the fault back until what was ahead of it
	// has passed, and what was behind it until it has struck.
	holds []faults.Fault
	// drop are the requests of the same instance that were not through, or not
	// sent yet. The fault strikes them with the rest of the process.
	drop []faults.Point
}

// reach says how far a pin looks from its fault.
type reach uint8

const (
	reachServer   reach = iota // the other connections of the instance to the server
	reachInstance              // all of its other connections
	reachAll                   // and those of all the other instances
)

// pinned proposes the scenario with the cuts kept that its faults met in a failing
// trial. A fault is a moment on one connection; where the other connections were
// at that moment is what a schedule decides, and a process with two connections
// to one server has a schedule of its own. First come the nearest connections,
// with all the faults pinned, and then with each alone.
func pinned(history []properties.Event, s scenario.Scenario) (list []scenario.Scenario) {
	all := steps(history)
	for _, base := range untimed(history, s) {
		for _, r := range []reach{reachServer, reachInstance, reachAll} {
			for _, arrived := range []bool{false, true} {
				var pins []pin
				for i := range base.Faults {
					if p, ok := pinOf(history, all, s, base.Faults[i], r, arrived); ok {
						p.fault = i
						pins = append(pins, p)
					}
				}
				list = append(list, withPins(base, pins))
				for i := len(pins) - 1; i >= 0 && len(pins) > 1; i-- {
					list = append(list, withPins(base, pins[i:i+1]))
				}
			}
		}
	}
	return list
}

// untimed are the scenario without its times on the clock, which strike
// elsewhere every time, and with the nearest points in their place.
func untimed(history []properties.Event, s scenario.Scenario) []scenario.Scenario {
	if !onTheClock(s) {
		return []scenario.Scenario{s}
	}
	without, near := s, s
	without.Faults = slices.DeleteFunc(slices.Clone(s.Faults), func(f faults.Fault) bool { return f.At == nil })
	near.Faults = slices.Clone(s.Faults)
	for i, f := range near.Faults {
		if points := nearest(history, f); f.At == nil && len(points) > 0 {
			near.Faults[i] = faults.Fault{At: &points[0], Do: f.Do, Then: f.Then}
		}
	}
	return []scenario.Scenario{without, near}
}

// withPins is the scenario with its faults pinned.
func withPins(s scenario.Scenario, pins []pin) scenario.Scenario {
	s.Faults = slices.Clone(s.Faults)
	for _, p := range pins {
		f := &s.Faults[p.fault]
		f.Drop = slices.Clone(f.Drop)
		for _, d := range p.drop {
			if !slices.Contains(f.Drop, d) {
				f.Drop = append(f.Drop, d)
			}
		}
		s.Faults = append(s.Faults, p.holds...)
	}
	return s
}

// pinOf pins a fault of a trial with these faults, or what stands for one. With arrived set, what was under way on the
// instance's other connections had arrived; else it had not.
func pinOf(history []properties.Event, all []step, armed scenario.Scenario, f faults.Fault, r reach, arrived bool) (p pin, ok bool) {
	wasArmed := slices.ContainsFunc(armed.Faults, func(g faults.Fault) bool { return g.String() == f.String() })
	own, place := struckAt(history, all, f, wasArmed)
	if own == nil {
		return p, false
	}
	ahead := own.aheadOf(all, f.At.Moment)
	shared := f.At.Link.Index == faults.Any
	for _, last := range others(all, *own, r, place) {
		mine := last.link.Instance == own.link.Instance
		named := shared && last.link.Role == own.link.Role
		until := last.done < place && last.done >= 0
		next := last.next(all, place)
		if mine && next != nil && arrived && next.sent < place {
			// It was under way.
			last, until, next = *next, true, next.foreseen(all, place)
			last.had = faults.Unanswered
		}
		if until && ahead != nil && !setup(last.label) && len(p.holds) < pinsMost {
			at, to := ahead.point(faults.Before, shared), last.point(last.had, named)
			p.holds = append(p.holds, faults.Fault{At: &at, Do: faults.Hold, Until: &to})
		}
		switch {
		case next == nil || !next.holdable():
		case mine && (f.Do == faults.Kill || f.Do == faults.Cut):
			at := next.point(faults.Before, named)
			p.drop = append(p.drop, at)
		case !mine && len(p.holds) < pinsMost:
			at, to := next.point(faults.Before, named), *f.At
			p.holds = append(p.holds, faults.Fault{At: &at, Do: faults.Hold, Until: &to})
		}
	}
	return p, len(p.holds)+len(p.drop) > 0
}

// struckAt finds the exchange that a fault struck, and where in the history; nil
// if it did not. What was not armed stands for a time on the clock.
func struckAt(history []properties.Event, all []step, f faults.Fault, armed bool) (own *step, place int) {
	if f.At == nil || f.Do == faults.Hold {
		return nil, 0
	}
	text := f.String()
	place = slices.IndexFunc(history, func(e properties.Event) bool {
		return e.Fault != nil && e.Fault.What == "fired" && e.Fault.Text == text
	})
	for j := range all {
		x := &all[j]
		if !f.At.Link.Matches(x.link) || x.label != f.At.Label {
			continue
		}
		if n := x.point(f.At.Moment, f.At.Link.Index == faults.Any).N; n != max(1, f.At.N) {
			continue
		}
		if place < 0 && armed {
			return nil, 0
		}
		// A point in the place of a time passed where it was.
		if place < 0 {
			if place = x.done; f.At.Moment == faults.Before || x.done < 0 {
				place = x.sent
			}
		}
		return x, place
	}
	return nil, 0
}

// aheadOf finds the request that a hold keeps back so that a fault at a moment
// of the step comes later: the step's own, or the one ahead of it on its
// connection. It is nil if there is none.
func (x step) aheadOf(all []step, m faults.Moment) *step {
	var found *step
	for i := range all {
		y := &all[i]
		if y.conn != x.conn || y.sent > x.sent || y.sent == x.sent && m == faults.Before || !y.holdable() {
			continue
		}
		found = y
	}
	return found
}

// others finds where the other connections within reach were at a place: the last
// step of each that had passed and counts, nearest to it first. Of another
// instance it is the last of all its connections.
func others(all []step, own step, r reach, place int) (list []step) {
	type party struct {
		faults.Instance
		conn int
	}
	last := map[party]step{}
	for _, x := range all {
		if x.sent >= place || x.conn == own.conn || x.idle {
			continue
		}
		key := party{x.link.Instance, x.conn}
		switch {
		case x.link.Instance == own.link.Instance:
			if r == reachServer && x.link.Server != own.link.Server {
				continue
			}
		case r != reachAll:
			continue
		default:
			key.conn = 0
		}
		if x.done < 0 || x.done > place {
			continue
		}
		if old, known := last[key]; !known || x.done > old.done {
			last[key] = x
		}
	}
	for _, x := range last {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b step) int {
		if mine := a.link.Instance == own.link.Instance; mine != (b.link.Instance == own.link.Instance) {
			if mine {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.done, a.done)
	})
	return list
}

// next is what a connection had not got through at a place: what it had asked
// for, asked for later, or would have asked for.
func (x step) next(all []step, place int) *step {
	for i := range all {
		y := &all[i]
		if y.conn == x.conn && y.sent > x.sent && !y.push && (y.done < 0 || y.done > place) {
			return y
		}
	}
	return x.foreseen(all, place)
}
