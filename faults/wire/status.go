package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
)

// State is what became of an armed fault.
type State string

// The states of a fault.
const (
	StateArmed    State = "armed"    // it may still fire
	StateFired    State = "fired"    // it fired
	StateReleased State = "released" // a hold fired, and its until has passed
	StateHealed   State = "healed"   // a hang or a hold fired, and was healed
	StateDisarmed State = "disarmed" // it was healed before it could fire
)

// striking is between freezing and telling; it is reported as fired.
const striking State = "striking"

// Status is a fault and what became of it.
type Status struct {
	Index int
	Fault faults.Fault
	State State
	// Firing tells whom it struck, and where; zero when it did not fire.
	Firing Firing
	// Why says why a fault did not fire, as far as the board can tell; empty
	// when it fired.
	Why string
}

// Fired reports whether the fault fired, whatever came after.
func (s Status) Fired() bool { return s.State != StateArmed && s.State != StateDisarmed }

// Faults reports on every fault, in the order of Arm.
func (b *Board) Faults() []Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]Status, 0, len(b.faults))
	for _, f := range b.faults {
		s := Status{Index: f.index, Fault: f.fault, State: f.state}
		if s.State == striking {
			s.State = StateFired
		}
		if s.Fired() {
			s.Firing = f.firing
		} else {
			s.Why = b.why(f)
		}
		all = append(all, s)
	}
	return all
}

// why says why a fault has not fired.
func (b *Board) why(f *armed) string {
	if f.absent {
		return fmt.Sprintf("there is no link %s", f.firing.Link)
	}
	if f.fault.At == nil {
		if b.links[f.fault.On] == nil && f.fault.Do != faults.Kill {
			return fmt.Sprintf("there is no link %s", f.fault.On)
		}
		return fmt.Sprintf("the clock did not come to %v", f.fault.Clock)
	}
	p := points(f.fault)[0].point
	s, opaque, known := b.seen(p.Link)
	if !known {
		return fmt.Sprintf("there is no link %s", p.Link)
	}
	var text string
	c := s.labels[p.Label]
	plain, idle := cutIdle(p.Label)
	switch {
	case c == nil || c.used() <= f.from:
		text = fmt.Sprintf("%q was not seen on %s, where there were %s", p.Label, p.Link, s)
	case c.used()-f.from < p.N:
		text = fmt.Sprintf("%q was seen %d times on %s, and #%d never came", p.Label, c.used()-f.from, p.Link, p.N)
	case idle && p.Moment == faults.Before && plain != "commit" && plain != "rollback":
		text = fmt.Sprintf("only the reply tells that %q is idle: it has no moment before", plain)
	default:
		text = fmt.Sprintf("%q #%d came on %s, and its moment %s did not", p.Label, p.N, p.Link, p.Moment)
	}
	if opaque > 0 {
		text += fmt.Sprintf(" (%d connections of it could not be read)", opaque)
	}
	return text
}

// seen returns the scope that a point counts in.
func (b *Board) seen(name faults.Link) (s *scope, opaque int, known bool) {
	for _, l := range b.links {
		if name.Matches(l.name) {
			known = true
			opaque += l.opaque
			if s = l.tally.link; name.Index == faults.Any {
				s = l.tally.role
			}
		}
	}
	return s, opaque, known
}

// String lists the labels with how often each was seen.
func (s *scope) String() string {
	var all []string
	for label, c := range s.labels {
		if c.used() > 0 {
			all = append(all, fmt.Sprintf("%q %d times", label, c.used()))
		}
	}
	if len(all) == 0 {
		return "no exchanges at all"
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func cutIdle(label string) (plain string, idle bool) { return strings.CutSuffix(label, idleSuffix) }

// LinkState is what a link carries now, and what it has carried.
type LinkState struct {
	// Readable and Opaque are the live connections that the codec reads, and
	// those that it does not. Connections of killed processes, those being
	// closed and cancel requests are in neither.
	Readable, Opaque int
	// InFlight are the requests, held or delivered, whose reply has not passed.
	InFlight int
	// Held are the frames that faults keep back: requests, replies, messages.
	Held int
	// Frozen: a fault lets nothing pass.
	Frozen bool
	// Completed counts, by label, the exchanges whose reply passed and the
	// messages that passed since New.
	Completed map[string]int
	// Backends are the server's own ids of the connections so far.
	Backends []uint64
	// EverOpaque counts the connections that turned opaque so far.
	EverOpaque int
}

// State reports on a link; the zero value when there is no such link.
func (b *Board) State(name faults.Link) LinkState {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.links[name]
	if l == nil {
		return LinkState{}
	}
	s := LinkState{
		Frozen:     l.hung > 0 || l.striking > 0 || l.instance.killing > 0,
		Completed:  make(map[string]int),
		Backends:   slices.Clone(l.backends),
		EverOpaque: l.opaque,
	}
	for label, c := range l.tally.link.labels {
		if c.done > 0 {
			s.Completed[label] = c.done
		}
	}
	for c := range l.conns {
		if !c.live() {
			continue
		}
		if c.opaque {
			s.Opaque++
		} else {
			s.Readable++
		}
		s.InFlight += len(c.open)
		s.Held += c.up.held() + c.down.held()
	}
	return s
}

// held counts the frames that a fault keeps back.
func (h *half) held() (n int) {
	for i := range h.queue {
		if h.queue[i].kept {
			n++
		}
	}
	return n
}

// InFlight counts the requests, held or delivered, whose reply has not passed,
// on all links of a role's living instances.
func (b *Board) InFlight(role string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.links {
		if l.name.Role != role {
			continue
		}
		for c := range l.conns {
			if c.live() {
				n += len(c.open)
			}
		}
	}
	return n
}

// Backends returns the servers' own ids of all connections so far: what a
// server lists beyond them came past the proxies.
func (b *Board) Backends() map[faults.Server][]uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[faults.Server][]uint64, len(b.backends))
	for server, ids := range b.backends {
		all[server] = slices.Clone(ids)
	}
	return all
}

// Living returns the servers' own ids of the connections that a living client
// holds now: what else a server lists is what dead clients left.
func (b *Board) Living() map[faults.Server][]uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[faults.Server][]uint64{}
	for _, l := range b.links {
		for c := range l.conns {
			if c.live() && c.backend != 0 {
				all[l.name.Server] = append(all[l.name.Server], c.backend)
			}
		}
	}
	return all
}
