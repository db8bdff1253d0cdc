package search

import (
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/properties"
)

// shape tells how an exchange goes over the wire, which decides its moments.
type shape uint8

const (
	twoWay shape = iota // a request and its reply
	oneWay              // a client's message that nothing confirms
	push                // a server's own message
)

// exchange is one exchange of a recorded run under the name by which a point
// finds it again.
type exchange struct {
	link  faults.Link
	label string
	n     int
	// among is its occurrence among all the instances of the role.
	among int
	shape shape
	conn  int
	// sent and done are the places in the run's order: when the request (or the
	// message) passed, and when the reply did; equal for one-way and push.
	sent, done int
	// blind: only the reply tells this label, so it has no moment before.
	blind bool
	// inTransaction: some Postgres connection of the instance has an open
	// transaction once the exchange is done.
	inTransaction bool
	// open: its own connection has.
	open         bool
	write, ended bool
}

func (e exchange) idle() bool { return strings.HasSuffix(e.label, " idle") }

// moments lists the exchange's moments in their order.
func (e exchange) moments() []faults.Moment {
	var m []faults.Moment
	if !e.blind {
		m = append(m, faults.Before)
	}
	if e.shape == twoWay {
		m = append(m, faults.Unanswered)
	}
	return append(m, faults.After)
}

// point names one of the exchange's moments. With more than one replica the
// role's instances share their points.
func (e exchange) point(m faults.Moment, shared bool) *faults.Point {
	link, n := e.link, e.n
	if shared {
		link.Index, n = faults.Any, e.among
	}
	return &faults.Point{Link: link, Label: e.label, N: n, Moment: m}
}

type name struct {
	link  faults.Link
	label string
	n     int
}

type conversation struct {
	conn     int
	exchange uint64
}

// exchanges lists the exchanges of a history, each once, in the order in which
// they were sent. Links of roles that the harness plays itself are left out.
func exchanges(history []properties.Event) []exchange {
	var list []exchange
	seen := map[name]bool{}
	open := map[conversation]*properties.Wire{}
	sentAt := map[conversation]int{}
	idleSeen := map[sharing]bool{} // what one replica polls for, all do
	inTx := map[faults.Instance]map[int]bool{}
	own := ownRoles(history)
	counts := newNumbers()
	for at, e := range history {
		w := e.Wire
		if w == nil {
			continue
		}
		link, err := faults.ParseLink(w.Link)
		if err != nil || !own[link.Role] {
			continue
		}
		key := conversation{w.Conn, w.Exchange}
		x := exchange{link: link, label: w.Label, n: w.N, among: counts.see(link, w), conn: w.Conn, sent: at, done: at}
		switch w.What {
		case properties.WireRequest:
			open[key], sentAt[key] = w, at
			continue
		case properties.WireReply:
			request := open[key]
			if request == nil {
				continue
			}
			delete(open, key)
			x.sent, x.write, x.ended = sentAt[key], w.Write, w.Ended != ""
			if x.blind = request.Label != w.Label || request.N != w.N; x.blind && x.idle() {
				idleSeen[sharing{link.Role, link.Server, strings.TrimSuffix(w.Label, " idle")}] = true
			}
		case properties.WireOneWay:
			x.shape = oneWay
		case properties.WirePush:
			x.shape = push
		default:
			continue
		}
		if inTx[link.Instance] == nil {
			inTx[link.Instance] = map[int]bool{}
		}
		switch {
		case w.Ended != "":
			delete(inTx[link.Instance], w.Conn)
		case w.Label == "begin":
			inTx[link.Instance][w.Conn] = true
		}
		x.inTransaction, x.open = len(inTx[link.Instance]) > 0, inTx[link.Instance][w.Conn]
		k := name{link, x.label, x.n}
		if seen[k] {
			// The same name again (a begin whose transaction turned out idle):
			// the point fires at the first.
			continue
		}
		seen[k] = true
		list = append(list, x)
	}
	for i, x := range list {
		if idleSeen[sharing{x.link.Role, x.link.Server, x.label}] {
			list[i].blind = true
		}
	}
	return list
}

// ownRoles are the target's own roles.
func ownRoles(history []properties.Event) map[string]bool {
	own := map[string]bool{}
	for _, e := range history {
		if e.Trial != nil {
			for _, r := range e.Trial.Roles {
				own[r] = true
			}
		}
	}
	return own
}
