package wire

import (
	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// conn is one connection of a link. The board's lock guards all of it.
type conn struct {
	board *Board
	link  *link
	id    int

	talk   frame.Conversation // nil when the link is unread
	opaque bool               // the rest passes unread
	cancel bool               // a cancel request, no traffic of the target
	numbering
	open     map[uint64]*exchange // requests at the proxy or beyond, whose reply has not passed
	withheld int                  // how many of them withhold their answer

	up, down half
	backend  uint64 // the server's own id of the connection, 0 until it told it
	ended    bool   // Close was observed
	dead     bool   // cut or severed: nothing more passes
	severed  bool   // the client process is gone
	linger   bool   // the server is to believe in the client
	running  int    // halves whose pipe has not returned
}

func (l *link) newConn() *conn {
	b := l.board
	b.conns++
	c := &conn{
		board: b, link: l, id: b.conns,
		open:      make(map[uint64]*exchange),
		numbering: numbering{tally: l.tally},
		running:   2,
		dead:      b.closed,
		severed:   b.closed,
	}
	if l.protocol != nil {
		c.talk = l.protocol()
	}
	c.opaque = c.talk == nil
	c.up.init(c, frame.FromClient)
	c.down.init(c, frame.FromServer)
	return c
}

// frozen reports whether a fault lets nothing pass on this connection.
func (c *conn) frozen() bool {
	return c.link.hung > 0 || c.link.striking > 0 || c.link.instance.killing > 0
}

// live reports whether the connection carries traffic of a living client.
func (c *conn) live() bool { return !c.dead && !c.ended && !c.cancel }

// end observes the end of the connection, once.
func (c *conn) end() {
	if !c.ended {
		c.ended = true
		c.abandon()
		c.observe(Close, nil)
	}
}

// turnOpaque gives up reading: the rest of the connection passes untouched.
func (c *conn) turnOpaque() {
	c.opaque = true
	c.withheld = 0
	c.link.opaque++
	clear(c.open)
	c.observe(Opaque, nil)
	c.up.rouse()
	c.down.rouse()
}

// die lets nothing more pass and drops what is kept. What was let pass before
// is still handed over, then both sides are closed.
func (c *conn) die() {
	if c.dead {
		return
	}
	c.dead = true
	c.abandon()
	c.up.discard()
	c.down.discard()
	c.board.changed()
	c.up.rouse()
	c.down.rouse()
}

// mark is an event that has its label and its number.
type mark struct {
	event frame.Event
	x     *exchange // nil for one-way messages and pushes
	label string
	n     number
}

// enter gives an event of a frame that is whole at the proxy its label and
// number. It reports false for parts of exchanges, which have neither, and the
// moment that has come with it.
func (c *conn) enter(e frame.Event) (m mark, moment faults.Moment, ok bool) {
	m.event, moment = e, faults.Before
	switch e.Kind {
	case frame.Request:
		m.x = c.request(e)
		c.open[e.Exchange] = m.x
		if m.x.withheld = c.board.mayFireUnanswered(c, m.x); m.x.withheld {
			c.withheld++
		}
	case frame.Reply:
		moment = faults.Unanswered
		if m.x = c.open[e.Exchange]; m.x == nil {
			// An answer to something that was never asked: it counts for nothing.
			m.x = &exchange{id: e.Exchange, label: e.Label, fixed: true}
		}
		if m.x.withheld {
			m.x.withheld = false
			c.withheld--
		}
		c.reply(m.x, e)
	case frame.OneWay, frame.Push:
		m.label = e.Label
		if e.Idle {
			m.label += idleSuffix
		}
		m.n = c.take(m.label)
		return m, moment, true
	default:
		return m, "", false
	}
	m.label, m.n = m.x.label, m.x.n
	return m, moment, true
}

// leave observes that m passes, and reports whether the moment after has come.
func (c *conn) leave(m *mark) (after bool) {
	switch m.event.Kind {
	case frame.Request:
		c.observe(Request, m)
		return false
	case frame.Reply:
		delete(c.open, m.event.Exchange)
		c.done(m.label)
		c.observe(Reply, m)
	case frame.OneWay:
		c.done(m.label)
		c.observe(OneWay, m)
	case frame.Push:
		c.done(m.label)
		c.observe(Push, m)
	}
	return true
}

// note takes what an event tells about the connection itself.
func (c *conn) note(e *frame.Event) {
	if e.Backend != 0 {
		c.backend = e.Backend
		c.board.backends[c.link.name.Server] = append(c.board.backends[c.link.name.Server], e.Backend)
		c.link.backends = append(c.link.backends, e.Backend)
	}
	if e.Cancel {
		c.cancel = true
	}
}
