package search

import (
	"slices"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/properties"
)

// step is one exchange as it happened on its connection, under the name that its
// request had: also one that a fault kept from an answer.
type step struct {
	link  faults.Link
	label string
	// n is its occurrence on the link, among that among all the instances of
	// the role.
	n, among int
	conn     int
	// sent is when it was at the proxy, done when its reply had passed, or was
	// there and was withheld (had is unanswered); done is -1 if neither was.
	sent, done int
	had        faults.Moment
	// push is a server's own message: nobody holds one back.
	push bool
	// blind: the reply gave it another name. Before it has none.
	blind bool
	// idle: it touched nothing.
	idle bool
}

// holdable reports whether a hold can keep the step back by its name.
func (x step) holdable() bool { return !x.push && !x.blind && !x.idle }

// point names one of the step's moments, on the points that replicas share if
// shared is set.
func (x step) point(m faults.Moment, shared bool) faults.Point {
	p := faults.Point{Link: x.link, Label: x.label, N: x.n, Moment: m}
	if shared {
		p.Link.Index, p.N = faults.Any, x.among
	}
	return p
}

// steps lists what went over the connections of the target's own roles, in the
// order in which it was sent.
func steps(history []properties.Event) []step {
	var list []step
	at := map[conversation]int{}
	own := ownRoles(history)
	counts := newNumbers()
	for place, e := range history {
		w := e.Wire
		if w == nil || w.Exchange == 0 || w.Label == "" || w.N == 0 {
			continue
		}
		link, err := faults.ParseLink(w.Link)
		if err != nil || !own[link.Role] {
			continue
		}
		key := conversation{w.Conn, w.Exchange}
		x := step{link: link, label: w.Label, n: w.N, among: counts.see(link, w), conn: w.Conn, sent: place, done: -1}
		switch w.What {
		case properties.WireRequest, properties.WireHeld:
			if _, known := at[key]; !known {
				at[key] = len(list)
				list = append(list, x)
			}
		case properties.WireOneWay, properties.WirePush:
			x.done, x.had, x.push = place, faults.After, w.What == properties.WirePush
			list = append(list, x)
		case properties.WireAnswered, properties.WireReply:
			i, known := at[key]
			if !known {
				continue
			}
			y := &list[i]
			if y.done < 0 || w.What == properties.WireReply {
				y.done, y.had = place, faults.Unanswered
			}
			if w.What == properties.WireReply {
				y.had = faults.After
			}
			if y.label != x.label || y.n != x.n {
				// From here on it has the other name.
				y.label, y.n, y.among, y.blind, y.idle = x.label, x.n, x.among, true, exchange{label: x.label}.idle()
			}
		}
	}
	return list
}

// after finds what the connection of a step asked for next; nil if that was
// nothing.
func (x step) after(all []step) *step {
	i := slices.IndexFunc(all, func(y step) bool { return y.conn == x.conn && y.sent > x.sent && !y.push })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// foreseen is what the connection of a step would have asked for next, had
// nobody broken it at a place: what another connection asked for after the same
// exchange, under the number that would have been its turn. It is nil if none
// shows it.
func (x step) foreseen(all []step, place int) *step {
	for _, y := range all {
		if y.conn == x.conn || y.link.Role != x.link.Role || y.link.Server != x.link.Server || y.label != x.label {
			continue
		}
		next := y.after(all)
		if next == nil || !next.holdable() {
			continue
		}
		out := step{link: x.link, label: next.label, n: 1, among: 1, conn: x.conn, sent: place, done: -1}
		for _, z := range all {
			if z.sent > place || z.label != next.label || z.link.Role != x.link.Role || z.link.Server != x.link.Server {
				continue
			}
			out.among = max(out.among, z.among+1)
			if z.link == x.link {
				out.n = max(out.n, z.n+1)
			}
		}
		return &out
	}
	return nil
}
