package wire

import (
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// What happened on a link.
const (
	Open     = "open"     // a connection was accepted
	Close    = "close"    // a connection ended; one that lingers ends when it is closed towards the server
	Request  = "request"  // a request goes to the server
	Reply    = "reply"    // a reply goes to the client
	OneWay   = "one-way"  // a message that nothing confirms goes to the server
	Push     = "push"     // a server's own message goes to the client
	Held     = "held"     // a request, a one-way message or a push is kept at the proxy
	Released = "released" // what was held or withheld goes on; the observation of its passing follows
	Dropped  = "dropped"  // what was held or withheld will never arrive
	Answered = "answered" // the server replied and the reply is withheld
	Opaque   = "opaque"   // the codec cannot read this connection any more
)

// Observation is one thing that passed, or was kept from passing, on a link.
type Observation struct {
	// At is the time since Options.Began. The order of the calls is the order
	// of the observations; At decides nothing.
	At   time.Duration
	Link faults.Link
	// Conn numbers the connections of the board from 1.
	Conn int
	What string
	// Exchange numbers the exchanges of the connection; 0 for open, close and opaque.
	Exchange uint64
	// Label has the suffix " idle" where the exchange touched nothing; N is its
	// occurrence on the link. A request that turns out idle is first seen under
	// its plain label, with a number that it then gives back.
	Label string
	N     int
	Event frame.Event
}

// Firing is a fault that strikes, or the release of a hold.
type Firing struct {
	Index int
	Fault faults.Fault
	// Instance is the instance that is struck; Link the link that is (cut,
	// hang, hold) and, of a kill, the link of the point, if any.
	Instance faults.Instance
	Link     faults.Link
	// At is the time since Options.Began.
	At time.Duration
	// The exchange at whose moment the fault fired; zero on the clock.
	On       faults.Link
	Conn     int
	Exchange uint64
	Label    string
	N        int
}

// observe tells one observation. The lock is held.
func (c *conn) observe(what string, m *mark) {
	b := c.board
	b.changed()
	if b.options.Observe == nil {
		return
	}
	o := Observation{At: time.Since(b.options.Began), Link: c.link.name, Conn: c.id, What: what}
	if m != nil {
		o.Exchange, o.Label, o.N, o.Event = m.event.Exchange, m.label, m.n.link, m.event
	}
	b.options.Observe(o)
}

// changed wakes whoever waits for a change. The lock is held.
func (b *Board) changed() {
	b.activity++
	if b.waiters != nil {
		close(b.waiters)
		b.waiters = nil
	}
}

// Activity counts what has passed, was held, dropped, opened, closed or fired.
func (b *Board) Activity() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.activity
}

// Changed returns a channel that is closed at the next change. Take the channel
// first, look at the state second, wait on the channel third: then no change
// is missed.
func (b *Board) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters == nil {
		b.waiters = make(chan struct{})
	}
	return b.waiters
}
