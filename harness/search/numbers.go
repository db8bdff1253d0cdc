package search

import (
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/properties"
)

// A history tells the occurrence of an exchange on its own link. A point that
// replicas share (relay.*) counts the exchanges of all of them, so that number
// is found here, by the rules of the wire: every request takes the lowest free
// number; a request that turns out idle gives its number back and takes one of
// its idle label; a begin gives its number back when its transaction did nothing.

// sharing is what shares its numbers: one label, on the links of all instances
// of a role to one server.
type sharing struct {
	role   string
	server faults.Server
	label  string
}

// turn is the number that an exchange has in what it shares.
type turn struct {
	sharing
	n int
}

// numbers gives the exchanges of a history their numbers among the replicas.
type numbers struct {
	taken map[sharing][]bool
	turns map[conversation]turn
	begun map[int]turn // by connection: a begin whose transaction did nothing yet
}

func newNumbers() *numbers {
	return &numbers{taken: map[sharing][]bool{}, turns: map[conversation]turn{}, begun: map[int]turn{}}
}

func (c *numbers) take(s sharing) turn {
	used := c.taken[s]
	at := slices.Index(used, false)
	if at < 0 {
		at = len(used)
		used = append(used, false)
	}
	used[at] = true
	c.taken[s] = used
	return turn{s, at + 1}
}

func (c *numbers) giveBack(t turn) { c.taken[t.sharing][t.n-1] = false }

// see takes notice of the next thing that passed, and returns the number that
// its exchange has now; 0 when it is about no exchange.
func (c *numbers) see(link faults.Link, w *properties.Wire) int {
	if w.Exchange == 0 || w.Label == "" {
		return 0
	}
	key := conversation{w.Conn, w.Exchange}
	now := sharing{link.Role, link.Server, w.Label}
	old, known := c.turns[key]
	switch {
	case !known:
		if w.Label == "begin" {
			c.abandon(w.Conn)
		}
		c.turns[key] = c.take(now)
		switch {
		case w.Label == "begin":
			c.begun[w.Conn] = c.turns[key]
		case ends(w.Label) && strings.HasSuffix(w.Label, " idle"):
			c.abandon(w.Conn)
		case ends(w.Label):
			delete(c.begun, w.Conn)
		}
	case old.label != w.Label:
		c.giveBack(old)
		c.turns[key] = c.take(now)
	}
	if w.What == properties.WireReply && w.Label != "begin" && !strings.HasSuffix(w.Label, " idle") {
		delete(c.begun, w.Conn)
	}
	return c.turns[key].n
}

func (c *numbers) abandon(conn int) {
	if t, open := c.begun[conn]; open {
		c.giveBack(t)
		delete(c.begun, conn)
	}
}

// ends reports whether a label ends a transaction.
func ends(label string) bool {
	switch strings.TrimSuffix(label, " idle") {
	case "commit", "rollback":
		return true
	}
	return false
}
