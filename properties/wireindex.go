package properties

import (
	"slices"
	"strings"
)

// conn is one connection as the wire showed it.
type conn struct {
	link  string
	first int // seq of the first event
	// exchanges are its own, in the order of their first events.
	exchanges []*exchange
}

// exchange gathers what the wire showed of one exchange.
type exchange struct {
	conn     *conn
	label    string // with " idle" when the reply told so
	n        int
	events   []*Event // all of them, in order
	request  *Event   // delivered to the server
	oneWay   *Event
	push     *Event
	reply    *Event // delivered to the client
	answered *Event // the server replied, the reply is withheld
	// What any of the events told: the events of its message, the orders by
	// their tokens, and its position.
	carries  []Carried
	position uint64
	// inBlock: the connection was inside an explicit transaction block, by all
	// that had been answered, when the request was delivered.
	inBlock bool
}

// done returns the event that shows the server's answer, delivered or not.
func (x *exchange) done() *Event {
	switch {
	case x.answered != nil:
		return x.answered
	default:
		return x.reply
	}
}

// committed reports whether a transaction was seen to commit with it.
func (x *exchange) committed() bool {
	d := x.done()
	return d != nil && d.Wire.Ended == "commit" && d.Wire.Error == ""
}

// publishes reports whether it is a client's message to the broker that
// carries an event.
func (x *exchange) publishes() bool {
	verb, _, _ := strings.Cut(x.label, " ")
	return verb == "publish" && x.push == nil && ServerOf(x.conn.link) == "broker"
}

// acknowledged reports whether the broker was seen to confirm it.
func (x *exchange) acknowledged() bool {
	d := x.done()
	return d != nil && d.Wire.Error == ""
}

// isOf reports whether its message carries an event of the order.
func (x *exchange) isOf(order string) bool {
	return order != "" && slices.ContainsFunc(x.carries, func(c Carried) bool { return c.Order == order })
}

// has reports whether its message carries the event with the id.
func (x *exchange) has(id string) bool {
	return id != "" && slices.ContainsFunc(x.carries, func(c Carried) bool { return c.EventID == id })
}

// orders are those that its message carries events of, each once.
func (x *exchange) orders() []string {
	var list []string
	for _, c := range x.carries {
		if c.Order != "" && !slices.Contains(list, c.Order) {
			list = append(list, c.Order)
		}
	}
	return list
}

// InstanceOf returns relay.0 for relay.0/postgres and for relay.0.
func InstanceOf(link string) string {
	instance, _, _ := strings.Cut(link, "/")
	return instance
}

// RoleOf returns relay for relay.0/postgres and for relay.0.
func RoleOf(link string) string {
	role, _, _ := strings.Cut(InstanceOf(link), ".")
	return role
}

// ServerOf returns postgres for relay.0/postgres, and nothing for relay.0.
func ServerOf(link string) string {
	_, server, _ := strings.Cut(link, "/")
	return server
}

type exchangeKey struct {
	conn int
	n    uint64
}

// addWire files one wire event. The caller has validated the history or
// tolerates an index of a broken one.
func (ix *index) addWire(e *Event) {
	w := e.Wire
	c := ix.conns[w.Conn]
	if c == nil {
		c = &conn{link: w.Link, first: e.Seq}
		ix.conns[w.Conn] = c
	}
	switch w.What {
	case WireOpen, WireClose:
		return
	case WireOpaque:
		ix.opaque[w.Link] = true
		return
	}
	key := exchangeKey{w.Conn, w.Exchange}
	x := ix.byKey[key]
	if x == nil {
		x = &exchange{conn: c, label: w.Label, n: w.N}
		ix.byKey[key] = x
		ix.exchanges = append(ix.exchanges, x)
		c.exchanges = append(c.exchanges, x)
	}
	x.events = append(x.events, e)
	// A request that turns out idle is seen under its plain label first.
	if x.label == "" || w.Label != "" && (w.What == WireReply || w.What == WireAnswered) {
		x.label, x.n = w.Label, w.N
	}
	if carried := w.Carried(); len(carried) > 0 {
		x.carries = carried
	}
	if w.Position != 0 {
		x.position = w.Position
	}
	switch w.What {
	case WireRequest:
		x.request, x.inBlock = e, ix.block[w.Conn]
	case WireOneWay:
		x.oneWay = e
	case WirePush:
		x.push = e
	case WireReply:
		x.reply = e
	case WireAnswered:
		x.answered = e
	}
	if w.What == WireReply || w.What == WireAnswered {
		verb, _, _ := strings.Cut(x.label, " ")
		switch {
		case w.Ended != "":
			ix.block[w.Conn] = false
		case w.Error == "" && (verb == "begin" || verb == "start"):
			ix.block[w.Conn] = true
		}
	}
}

// carried reports whether a link of the role to the server carried anything
// that belongs to an exchange.
func (ix *index) carried(role, server string) bool {
	for _, x := range ix.exchanges {
		if RoleOf(x.conn.link) == role && ServerOf(x.conn.link) == server &&
			(x.request != nil || x.oneWay != nil || x.push != nil) {
			return true
		}
	}
	return false
}

// opaqueLinks returns the links of the role (any when empty) to the server
// that could not be read to the end.
func (ix *index) opaqueLinks(role, server string) []string {
	var links []string
	for _, link := range sortedKeys(ix.opaque) {
		if (role == "" || RoleOf(link) == role) && (server == "" || ServerOf(link) == server) {
			links = append(links, link)
		}
	}
	return links
}
