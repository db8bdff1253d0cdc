package pgwire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// The codes of the packets that may come in place of a startup message.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSS    = 80877104
)

// startup reads an untyped packet.
func (c *Conversation) startup(f []byte) ([]frame.Event, error) {
	if len(f) < 8 {
		return nil, fmt.Errorf("postgres: a start-up packet of %d bytes", len(f))
	}
	if c.started {
		return nil, errors.New("postgres: a start-up packet in mid-conversation")
	}
	switch code := binary.BigEndian.Uint32(f[4:]); {
	case code == codeSSL, code == codeGSS:
		c.asked++
		return c.part(frame.FromClient, 0), nil
	case code == codeCancel:
		return []frame.Event{{Kind: frame.Part, Cancel: true}}, nil
	case code>>16 == 3:
		c.started = true
		return c.request(connecting, nil, 0, "connect"), nil
	default:
		return nil, fmt.Errorf("postgres: protocol %d.%d is not known", code>>16, code&0xffff)
	}
}

// client reads a typed message of the client.
func (c *Conversation) client(tag byte, body []byte) []frame.Event {
	c.started = true
	switch tag {
	case 'P':
		name, rest := cstring(body)
		sql, _ := cstring(rest)
		remember(c.statements, name, c.statement(sql))
	case 'B':
		portal, rest := cstring(body)
		name, rest := cstring(rest)
		remember(c.portals, portal, c.bound(c.statements[string(name)], rest))
	case 'C':
		if len(body) > 0 {
			name, _ := cstring(body[1:])
			switch body[0] {
			case 'S':
				delete(c.statements, string(name))
			case 'P':
				delete(c.portals, string(name))
			}
		}
	case 'E':
		name, rest := cstring(body)
		p, known := c.portals[string(name)]
		if known && p.asked != 0 {
			again := p
			again.asked = 0
			c.portals[string(name)] = again
			p.asked = c.repeats.mix(p.asked, rest)
		}
		return c.request(executing, p.statement, p.asked, "execute")
	case 'Q':
		sql, _ := cstring(body)
		s := c.statement(sql)
		return c.request(querying, s, s.text, "")
	case 'F':
		return c.request(querying, &Statement{Label: "function call", Changes: true, parts: []trait{changes}}, 0, "")
	case 'S':
		return c.part(frame.FromClient, c.sync())
	case 'd':
		if !c.streaming {
			return c.part(frame.FromClient, c.copyExchange())
		}
		if len(body) > 0 && body[0] == 'r' {
			return c.alone(frame.FromClient, c.status(body))
		}
	case 'c', 'f':
		c.copyIn = false
		return c.part(frame.FromClient, c.copyExchange())
	case 'p':
		return c.part(frame.FromClient, c.queue.at(0).number())
	}
	return c.part(frame.FromClient, 0)
}

// statement reads the SQL of a message.
func (c *Conversation) statement(sql []byte) *Statement {
	s := c.labeller.label(string(sql))
	if !c.cut {
		s.text = c.repeats.mix(1, sql)
		if s.prepared != nil {
			s.prepared.text = s.text
		}
	}
	return &s
}

// bound is the portal that a Bind makes of a statement and what stands behind
// its name: the parameters, and the formats.
func (c *Conversation) bound(s *Statement, parameters []byte) portal {
	p := portal{statement: s}
	if s != nil && s.text != 0 && !c.cut {
		p.asked = c.repeats.mix(s.text, parameters)
	}
	return p
}

// request starts an exchange. Asked is a hash of the statement and of its
// parameters, 0 if not known.
func (c *Conversation) request(k kind, s *Statement, asked uint64, label string) []frame.Event {
	if s != nil && s.execute != "" && len(s.parts) == 1 && c.statements[s.execute] != nil {
		s = c.statements[s.execute]
		if asked = c.repeats.both(asked, s.text); s.text == 0 {
			asked = 0
		}
	}
	if !s.answers() {
		asked = 0
	}
	if s != nil {
		label = s.Label
	}
	c.exchanges++
	event := frame.Event{Kind: frame.Request, Exchange: c.exchanges, Label: label}
	if s != nil {
		if s.End {
			event.End, event.Idle = true, c.idle()
			c.open, c.busy = false, false
			c.transaction++
		}
		if s.Begin {
			event.Begin = true
			if !c.open {
				c.open, c.busy = true, false
				c.transaction++
			}
		}
		c.apply(s)
	}
	c.queue.push(entry{
		kind: k, exchange: c.exchanges, label: label, statement: s,
		transaction: c.transaction, rows: -1, asked: asked,
	})
	return c.one(frame.FromClient, event)
}

// apply does what s does to the names of prepared statements. It is done in
// the order of the requests, as the server will do it.
func (c *Conversation) apply(s *Statement) {
	if s.prepared != nil {
		remember(c.statements, []byte(s.prepare), s.prepared)
	}
	for _, name := range s.forgets {
		delete(c.statements, name)
	}
	if s.forgetsAll {
		clear(c.statements)
	}
}

// idle reports whether the open transaction has done nothing so far. What is
// not yet answered may have done something.
func (c *Conversation) idle() bool {
	if c.busy {
		return false
	}
	for i := range c.queue.len() {
		e := c.queue.at(i)
		if e.kind == syncing || e.kind == spent || e.transaction != c.transaction {
			continue
		}
		if e.statement == nil || !e.statement.Quiet {
			return false
		}
	}
	return true
}

// sync notes a Sync and returns the exchange that it commits.
func (c *Conversation) sync() uint64 {
	if c.copyIn {
		return c.copyExchange()
	}
	last := c.queue.at(c.queue.len() - 1)
	exchange := uint64(0)
	if last != nil && last.kind == executing {
		exchange = last.exchange
	}
	c.queue.push(entry{kind: syncing})
	return exchange
}

func (c *Conversation) copyExchange() uint64 {
	if c.copying != 0 {
		return c.copying
	}
	return c.queue.at(0).number()
}
