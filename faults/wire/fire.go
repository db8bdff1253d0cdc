package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/outboxtest/outboxtest/faults"
)

// armed is a fault and what became of it. The board's lock guards it.
type armed struct {
	index     int
	fault     faults.Fault
	state     State
	untilSeen bool // the point that releases a hold has passed
	absent    bool // the link that it should have struck does not exist
	from      int  // the occurrences of its point's label that do not count
	link      *link
	firing    Firing
	timer     *time.Timer
	// silent, when set, is told of the firing in place of Options.Fired: it is
	// no fault of the trial's.
	silent func()
}

// withhold says that an exchange with the label might fire an armed fault at
// its moment unanswered: as it is named, or when its reply turns out idle.
type withhold struct {
	*watch
	idle bool
}

// refuse reports why the board cannot do the fault as it is written.
func refuse(f faults.Fault) error {
	errs := []error{f.Validate()}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if f.On.Role != "" && f.On.Index == faults.Any && (f.At == nil || f.At.Link.Role != f.On.Role) {
		bad("%s %s does not say which replica: use %s.0", f.Do, f.On.Instance, f.On.Role)
	}
	if f.Do == faults.Hold && f.On.Role != "" {
		bad("hold keeps back the request of its own point: leave %s out", f.On.Instance)
	}
	for _, p := range points(f) {
		if p.point.Link.Role == "" || p.point.Link.Server == "" || p.point.Label == "" || p.point.N < 0 {
			bad("point %s is not complete", p.point)
		}
	}
	return errors.Join(errs...)
}

// points lists the points of a fault with what they are for.
func points(f faults.Fault) (ws []watch) {
	add := func(u use, p faults.Point) {
		if p.N == 0 {
			p.N = 1
		}
		if u == useDrop {
			p.Moment = faults.Before
		}
		ws = append(ws, watch{use: u, point: p})
	}
	if f.At != nil {
		add(useAt, *f.At)
	}
	if f.Until != nil {
		add(useUntil, *f.Until)
	}
	for _, p := range f.Drop {
		add(useDrop, p)
	}
	return ws
}

// arm sets the watches of a fault. From tells for each of its points how many
// occurrences do not count, because they came before.
func (b *Board) arm(index int, f faults.Fault, from func(faults.Point) int) {
	a := &armed{index: index, fault: f, state: StateArmed}
	b.faults = append(b.faults, a)
	for _, w := range points(f) {
		w.fault = a
		skip := from(w.point)
		w.point.N += skip
		if w.use == useAt {
			a.from = skip
		}
		label := w.point.Label
		b.watches[label] = append(b.watches[label], &w)
		if w.use != useAt || w.point.Moment != faults.Unanswered {
			continue
		}
		b.withholds[label] = append(b.withholds[label], withhold{&w, false})
		if plain, ok := cutIdle(label); ok {
			b.withholds[plain] = append(b.withholds[plain], withhold{&w, true})
		}
	}
}

// mayFireUnanswered reports whether the answer of x must be withheld until its
// reply is at the proxy, because a fault may fire there.
func (b *Board) mayFireUnanswered(c *conn, x *exchange) bool {
	for _, w := range b.withholds[x.label] {
		switch {
		case w.fault.state != StateArmed:
		case !w.idle:
			if w.matches(c.link.name, x.n) {
				return true
			}
		case !x.fixed && w.mayAnswerIdle(c.link.name, c.peek(w.point.Label)):
			return true
		}
	}
	return false
}

// match finds what happens at a moment of m. The faults that fire there freeze
// what they strike at once and are returned to be told; holders keep m's frame
// back.
func (b *Board) match(c *conn, m *mark, moment faults.Moment) (fires, holders []*armed) {
	for _, w := range b.watches[m.label] {
		if w.point.Moment != moment || !w.matches(c.link.name, m.n) {
			continue
		}
		f := w.fault
		switch w.use {
		case useUntil:
			b.release(f)
		case useDrop:
			if f.state == StateArmed {
				holders = append(holders, f)
			}
		case useAt:
			if f.state != StateArmed || b.closed || !b.strike(f, c, m) {
				continue
			}
			fires = append(fires, f)
			if f.fault.Do == faults.Hold {
				holders = append(holders, f)
			}
		}
	}
	return fires, holders
}

// holds reports whether the fault keeps back the frames that it is a holder of.
func (f *armed) holds() bool {
	if f.fault.Do == faults.Hold {
		return (f.state == striking || f.state == StateFired) && !f.untilSeen
	}
	return f.state == StateArmed || f.state == striking
}

// strike settles whom the fault strikes and freezes it. It reports false when
// there is no such link. C and m are nil on the clock.
func (b *Board) strike(f *armed, c *conn, m *mark) bool {
	target := f.fault.On
	f.firing = Firing{Index: f.index, Fault: f.fault, At: time.Since(b.options.Began)}
	if c != nil {
		f.firing.On, f.firing.Conn = c.link.name, c.id
		f.firing.Exchange, f.firing.Label, f.firing.N = m.event.Exchange, m.label, m.n.link
		if target.Role == "" {
			target = c.link.name
		} else if target.Index == faults.Any {
			target.Index = c.link.name.Index
		}
	}
	f.firing.Instance, f.firing.Link = target.Instance, target
	if f.fault.Do == faults.Kill {
		if f.firing.Link = f.firing.On; target.Server != "" {
			f.firing.Link = target
		}
		b.instance(target.Instance).killing++
		f.state = striking
		return true
	}
	if f.link = b.links[target]; f.link == nil {
		f.absent = true
		return false
	}
	switch f.fault.Do {
	case faults.Cut:
		f.link.striking++
	case faults.Hang:
		f.link.hung++
	}
	f.state = striking
	return true
}

// tell tells that a fault fired, and does what the board does by itself.
func (b *Board) tell(f *armed) {
	if f.state != striking {
		return
	}
	f.state = StateFired
	b.changed()
	switch {
	case f.silent != nil:
		f.silent()
	case b.options.Fired != nil && !b.closed:
		b.options.Fired(f.firing)
	}
	switch f.fault.Do {
	case faults.Cut:
		f.link.striking--
		for c := range f.link.conns {
			c.die()
		}
		for _, l := range b.instance(f.firing.Instance).links {
			for c := range l.conns {
				if c.up.heldBy(f) || c.down.heldBy(f) {
					c.die()
				}
			}
		}
	case faults.Hold:
		if f.untilSeen {
			f.untilSeen = false
			b.release(f)
		}
	}
	b.rouse()
}

// heldBy reports whether the half keeps a frame that the fault is a holder of.
func (h *half) heldBy(f *armed) bool {
	for i := range h.queue {
		for _, holder := range h.queue[i].holders {
			if holder == f {
				return true
			}
		}
	}
	return false
}

// release lets go what a hold keeps, for its until has passed.
func (b *Board) release(f *armed) {
	if f.untilSeen {
		return
	}
	f.untilSeen = true
	if f.state != StateFired {
		return // not held yet, or not told yet: tell comes back here
	}
	f.state = StateReleased
	b.changed()
	if b.options.Released != nil && !b.closed {
		f.firing.At = time.Since(b.options.Began)
		b.options.Released(f.firing)
	}
	b.rouse()
}

// rouse makes every direction of every connection look again.
func (b *Board) rouse() {
	for _, l := range b.links {
		l.rouse()
	}
}

// Sever says that the process of an instance is dead: it has been killed and
// waited for. All that is kept on its connections is dropped, and they are
// closed on both sides; with linger the server's side stays open until
// CloseLingering. What a killed process left with the proxy before the kill
// was observed is gone; what was let pass has passed. One kill is then over,
// and when no other waits for its Sever new connections of the instance pass.
func (b *Board) Sever(i faults.Instance, linger bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	in := b.instance(i)
	for _, l := range in.links {
		for c := range l.conns {
			if c.dead {
				continue
			}
			c.severed = true
			c.linger = linger && !c.ended && !b.closed
			c.die()
		}
	}
	if in.killing > 0 {
		in.killing--
	}
	b.changed()
	for _, l := range in.links {
		l.rouse()
	}
}

// CloseLingering closes the server's side of the connections that Sever left.
func (b *Board) CloseLingering(i faults.Instance) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.instance(i).links {
		for c := range l.conns {
			c.linger = false
		}
		l.rouse()
	}
}

// Heal ends a fault by its index in Arm: what a hang or a hold keeps goes on,
// in order. A fault that has not fired is disarmed, and what it kept back to be
// dropped goes on. A kill or a cut that fired needs no healing here.
func (b *Board) Heal(index int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.faults[index]
	b.tell(f) // one that has struck and waits for its bytes to be handed over
	switch {
	case f.state == StateArmed:
		f.state = StateDisarmed
	case f.state == StateFired && f.fault.Do == faults.Hang:
		f.link.hung--
		f.state = StateHealed
	case f.state == StateFired && f.fault.Do == faults.Hold:
		f.state = StateHealed
	default:
		return
	}
	b.changed()
	b.rouse()
}
