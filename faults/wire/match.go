package wire

import (
	"slices"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// idleSuffix ends the label of an exchange that touched nothing.
const idleSuffix = " idle"

// counter numbers the exchanges of one label, from 1.
type counter struct {
	high int   // the highest number in use
	free []int // numbers below high that were given back, ascending
	done int   // exchanges that completed
}

// used is how many exchanges have kept their number.
func (c *counter) used() int { return c.high - len(c.free) }

func (c *counter) peek() int {
	if len(c.free) > 0 {
		return c.free[0]
	}
	return c.high + 1
}

// take gives the lowest number that no other exchange has: for exchanges that
// follow each other it is the number of those before, plus one; for those that
// overlap it is unique all the same when one of them turns out idle.
func (c *counter) take() int {
	if len(c.free) > 0 {
		n := c.free[0]
		c.free = slices.Delete(c.free, 0, 1)
		return n
	}
	c.high++
	return c.high
}

func (c *counter) giveBack(n int) {
	at, _ := slices.BinarySearch(c.free, n)
	c.free = slices.Insert(c.free, at, n)
	for len(c.free) > 0 && c.free[len(c.free)-1] == c.high {
		c.free = c.free[:len(c.free)-1]
		c.high--
	}
}

// scope holds the counters of what shares its numbers: one link, or the links
// of all the replicas of a role to one server.
type scope struct{ labels map[string]*counter }

func newScope() *scope { return &scope{labels: make(map[string]*counter)} }

func (s *scope) of(label string) *counter {
	c := s.labels[label]
	if c == nil {
		c = new(counter)
		s.labels[label] = c
	}
	return c
}

// number is the occurrence of an exchange on its link, and among all the
// replicas of the role.
type number struct{ link, role int }

// tally numbers in both scopes at once.
type tally struct{ link, role *scope }

func (t tally) peek(label string) number {
	return number{t.link.of(label).peek(), t.role.of(label).peek()}
}

func (t tally) take(label string) number {
	return number{t.link.of(label).take(), t.role.of(label).take()}
}

func (t tally) giveBack(label string, n number) {
	t.link.of(label).giveBack(n.link)
	t.role.of(label).giveBack(n.role)
}

func (t tally) done(label string) {
	t.link.of(label).done++
	t.role.of(label).done++
}

// exchange is one request, from the moment it is at the proxy.
type exchange struct {
	id    uint64
	label string
	n     number
	// fixed: the label was settled by the request; its reply cannot make it idle.
	fixed bool
	// withheld: nothing of the server's answer may pass until the reply is at
	// the proxy, because an armed fault may fire there.
	withheld bool
}

// numbering gives the exchanges of one connection their labels and numbers.
type numbering struct {
	tally
	// begun is the begin of the open transaction, as long as the transaction
	// has not turned out to do any work.
	begun *exchange
}

// request numbers a request that is at the proxy. The number is kept for ever
// unless the reply turns out idle.
//
// A begin is known to be idle only at its transaction's end, and gives its
// number back then: however often an idle relay polls, begin #2 is the first
// begin after the first transaction that worked. Transactions that are open at
// the same time have numbers of their own.
func (c *numbering) request(e frame.Event) *exchange {
	x := &exchange{id: e.Exchange, label: e.Label}
	switch {
	case e.Begin:
		c.abandon()
		x.fixed = true
		x.n = c.take(x.label)
		c.begun = x
		return x
	case e.End:
		x.fixed = true
		if e.Idle {
			x.label += idleSuffix
			c.abandon()
		} else {
			c.worked()
		}
	case e.Idle:
		x.fixed = true
		x.label += idleSuffix
	}
	x.n = c.take(x.label)
	return x
}

// reply settles the label and the number of x.
func (c *numbering) reply(x *exchange, e frame.Event) {
	switch {
	case x.fixed:
	case e.Idle:
		c.giveBack(x.label, x.n)
		x.label += idleSuffix
		x.n = c.take(x.label)
		x.fixed = true
	default:
		c.worked()
	}
}

// worked makes the number of the open transaction's begin count.
func (c *numbering) worked() { c.begun = nil }

// abandon gives back the number of a begin whose transaction did nothing.
func (c *numbering) abandon() {
	if c.begun != nil {
		c.giveBack(c.begun.label, c.begun.n)
		c.begun = nil
	}
}

// use says what a fault has a point for.
type use uint8

const (
	useAt    use = iota // the fault fires there
	useUntil            // a hold is released there
	useDrop             // the message is kept back, for the fault to drop
)

// watch is one point of an armed fault.
type watch struct {
	fault *armed
	use   use
	point faults.Point
}

// matches reports whether the point is occurrence n on the concrete link. The
// caller has looked at label and moment.
func (w *watch) matches(link faults.Link, n number) bool {
	if !w.point.Link.Matches(link) {
		return false
	}
	if w.point.Link.Index == faults.Any {
		return w.point.N == n.role
	}
	return w.point.N == n.link
}

// mayAnswerIdle reports whether a reply yet to come could have this point's
// number under its idle label.
func (w *watch) mayAnswerIdle(link faults.Link, next number) bool {
	if !w.point.Link.Matches(link) {
		return false
	}
	if w.point.Link.Index == faults.Any {
		return w.point.N >= next.role
	}
	return w.point.N >= next.link
}
