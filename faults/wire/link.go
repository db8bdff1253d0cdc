package wire

import (
	"fmt"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// Protocol makes the codec of one connection: pgwire.New, natswire.New. Nil
// leaves the link unread: its bytes pass, and faults on the clock, and those of
// other links' points, work on it.
type Protocol func() frame.Conversation

// instance is one process of the trial. The board's lock guards it.
type instance struct {
	links   []*link
	killing int // kills that fired and were not followed by Sever yet
}

// link is one link and its proxy. The board's lock guards it, except for the
// proxy, which has its own.
type link struct {
	board    *Board
	name     faults.Link
	proxy    *toxiproxy.Proxy
	protocol Protocol
	instance *instance
	tally    tally

	conns    map[*conn]struct{}
	joining  *conn // accepted, and waits for its other direction
	hung     int   // hangs that were not healed
	striking int   // cuts that fired and are not done yet
	opaque   int   // connections that turned opaque so far
	backends []uint64
}

// Link starts the proxy of a link on a free loopback port and returns its
// address. The board owns the proxy and stops it in Close. Upstream is the
// server's host:port; it is dialled once for each connection.
func (b *Board) Link(name faults.Link, upstream string, protocol Protocol) (addr string, err error) {
	if name.Index == faults.Any || name.Role == "" || name.Server == "" {
		return "", fmt.Errorf("link %s: a proxy belongs to one instance and one server", name)
	}
	b.setup.Lock()
	defer b.setup.Unlock()
	l := &link{board: b, name: name, protocol: protocol, conns: make(map[*conn]struct{})}
	l.proxy = toxiproxy.NewProxy(b.server, name.String(), "127.0.0.1:0", upstream)
	for _, dir := range []stream.Direction{stream.Upstream, stream.Downstream} {
		w, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(
			fmt.Sprintf(`{"type": %q, "stream": %q}`, toxicType, dir)))
		if err != nil {
			return "", fmt.Errorf("link %s: add the toxic: %w", name, err)
		}
		t := w.Toxic.(*toxic)
		t.link = l
		if t.dir = frame.FromClient; dir == stream.Downstream {
			t.dir = frame.FromServer
		}
	}
	if err := b.join(l); err != nil {
		return "", err
	}
	if err := l.proxy.Start(); err != nil {
		b.part(l)
		return "", fmt.Errorf("link %s: start the proxy: %w", name, err)
	}
	return l.proxy.Listen, nil
}

// join makes the link known before its first connection.
func (b *Board) join(l *link) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return fmt.Errorf("link %s: the board is closed", l.name)
	}
	if b.links[l.name] != nil {
		return fmt.Errorf("link %s: it has a proxy already", l.name)
	}
	l.instance = b.instance(l.name.Instance)
	l.instance.links = append(l.instance.links, l)
	l.tally = tally{link: newScope(), role: b.role(l.name)}
	b.links[l.name] = l
	return nil
}

func (b *Board) part(l *link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.links, l.name)
	l.instance.links = l.instance.links[:len(l.instance.links)-1]
}

func (b *Board) instance(i faults.Instance) *instance {
	in := b.instances[i]
	if in == nil {
		in = new(instance)
		b.instances[i] = in
	}
	return in
}

// role returns the scope that the replicas of a role share.
func (b *Board) role(name faults.Link) *scope {
	name.Index = faults.Any
	s := b.roles[name]
	if s == nil {
		s = newScope()
		b.roles[name] = s
	}
	return s
}

// attach makes the state of one direction of a connection, and with the first
// one the connection.
func (l *link) attach(dir frame.Direction) *half {
	b := l.board
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pipes.Add(1)
	if dir == frame.FromClient {
		c := l.newConn()
		l.conns[c] = struct{}{}
		l.joining = c
		c.observe(Open, nil)
		return &c.up
	}
	c := l.joining
	l.joining = nil
	return &c.down
}

// left is called by each pipe as its last act.
func (c *conn) left() {
	b := c.board
	b.mu.Lock()
	if c.running--; c.running == 0 {
		c.end()
		delete(c.link.conns, c)
	}
	b.mu.Unlock()
	b.pipes.Done()
}

// rouse makes every direction of the link look again.
func (l *link) rouse() {
	for c := range l.conns {
		c.up.rouse()
		c.down.rouse()
	}
}
