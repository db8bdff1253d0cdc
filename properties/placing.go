package properties

import "strings"

// placing is what the wire shows of the time in which an order can have been
// committed: what ended there, and what may have.
type placing struct {
	// done are the app's exchanges that were seen to commit a transaction.
	done []*exchange
	// maybe are exchanges that may have committed: delivered, and nothing of
	// their end was seen.
	maybe []*exchange
	// others: some commit in done may belong to somebody else, another order
	// placed at the same time or a relay that lives in the app.
	others bool
}

// window is when, and on which connections, an order's commit can have been
// sent.
type window struct {
	from, until int // seqs; from is 0 for an order that was never called
	// died is the seq of the death of the asked instance, 0 when it lived. What
	// a process wrote before it died is delivered later: its connections count
	// to their ends. Those of its successor count until the window closes.
	instance string
	died     int
}

// holds reports whether the request was sent in the window.
func (w window) holds(x *exchange) bool {
	if w.from == 0 || x.request == nil || x.request.Seq < w.from {
		return false
	}
	if w.died > 0 && InstanceOf(x.conn.link) == w.instance && x.conn.first < w.died {
		return true
	}
	return x.request.Seq <= w.until
}

// window returns the order's window: from its call to its answer, or, when the
// answer is unknown, to the death of the instance that was asked, or else to
// the end of the history. An order that was accepted to be committed later may
// outlive the instance. A call is on record before the death of the process
// that it was made to.
func (ix *index) window(order string) window {
	call := ix.calls[order]
	if call == nil {
		return window{}
	}
	w := window{from: call.Seq, until: len(ix.h), instance: call.Call.Instance}
	answer := ix.answers[order]
	if answer != nil && answer.Answer.Outcome != Unknown {
		w.until = answer.Seq
		if d := ix.deathAfter(w.instance, w.from); d < w.until {
			w.died = d
		}
		return w
	}
	w.died = ix.deathAfter(w.instance, w.from)
	if w.died > len(ix.h) || answer != nil && answer.Answer.Accepted {
		w.died = 0
		return w
	}
	w.until = w.died
	return w
}

// deathAfter returns the seq of the instance's first death after seq, or a seq
// past the end.
func (ix *index) deathAfter(instance string, seq int) int {
	for _, e := range ix.processes {
		if e.Seq > seq && e.Process.Instance == instance && ended(e) {
			return e.Seq
		}
	}
	return len(ix.h) + 1
}

// placing collects the commits that may be the order's. What counts is when
// the request was delivered: its reply may come after the answer, as when the
// app gave up waiting for it.
func (ix *index) placing(order string) placing {
	var p placing
	w := ix.window(order)
	for _, x := range ix.exchanges {
		if RoleOf(x.conn.link) != "app" || ServerOf(x.conn.link) != "postgres" || !w.holds(x) {
			continue
		}
		switch {
		case x.committed():
			p.done = append(p.done, x)
		case x.done() == nil && (!x.inBlock || endsTransaction(x.label)):
			p.maybe = append(p.maybe, x)
		}
	}
	p.others = ix.relayInApp
	for other := range ix.calls {
		if o := ix.window(other); other != order && o.from < w.until && w.from < o.until {
			p.others = true
		}
	}
	return p
}

// endsTransaction reports whether the label names a statement that can commit
// an open transaction block.
func endsTransaction(label string) bool {
	verb, _, _ := strings.Cut(label, " ")
	return verb == "commit" || verb == "end" || verb == "prepare"
}
