package properties

import (
	"fmt"
	"slices"
)

// validate checks the history's own assumptions and returns each that does not
// hold. The rules may rely on what it checks, and on nothing else.
func validate(h []Event) []string {
	if len(h) == 0 {
		return []string{"the history is empty"}
	}
	var broken []string
	add := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	for i, e := range h {
		if e.Seq != i+1 {
			add("event %d has the number %d: the order of the history is lost", i+1, e.Seq)
			return broken
		}
		if err := shape(e); err != nil {
			add("event %d: %v", i+1, err)
			return broken
		}
	}
	if h[0].Kind != KindTrial {
		add("the history does not begin with its trial")
		return broken
	}
	if v := h[0].Trial.Version; v != Version {
		add("the history has version %d, and this checker reads version %d", v, Version)
		return broken
	}
	if h[len(h)-1].Kind != KindEnd {
		add("the history does not run to its end: the trial was interrupted")
	}
	for _, e := range h[1:] {
		if e.Kind == KindTrial {
			add("event %d is a second trial in one history", e.Seq)
		}
	}
	for _, e := range h[:len(h)-1] {
		if e.Kind == KindEnd {
			add("something follows the end of the history")
		}
	}
	if p := h[0].Trial.Promise; p.Polls < 0 || p.Time < 0 {
		add("the promised drain is negative")
	}
	for _, e := range h {
		if e.Kind == KindProblem {
			add("the harness met a problem: %s", e.Problem)
		}
		if e.Kind == KindStall {
			switch s := *e.Stall; {
			case s.From < 0:
				add("event %d: a stall from before the trial began", e.Seq)
			case s.For <= 0:
				add("event %d: a stall of no length", e.Seq)
			case s.end() > e.At:
				add("event %d: a stall that had not ended when it was noted", e.Seq)
			}
		}
	}
	broken = append(broken, validateCalls(h)...)
	broken = append(broken, validateWire(h)...)
	broken = append(broken, validateLedgers(h)...)
	return append(broken, validateReadings(h)...)
}

func validateCalls(h []Event) []string {
	var broken []string
	trial := h[0].Trial
	calls, answers := map[string]string{}, map[string]bool{}
	for _, e := range h {
		switch e.Kind {
		case KindCall:
			c := e.Call
			if _, twice := calls[c.Order]; twice {
				broken = append(broken, fmt.Sprintf("%s was called twice: a token belongs to one call", c.Order))
			}
			calls[c.Order] = c.Op
			planned := trial.Orders
			if c.Op == "abort" {
				planned = trial.Aborts
			} else if c.Op != "place" {
				broken = append(broken, fmt.Sprintf("%s was called to %q, which is neither place nor abort", c.Order, c.Op))
			}
			if !slices.Contains(planned, c.Order) {
				broken = append(broken, fmt.Sprintf("%s was called and is not in the trial's plan", c.Order))
			}
		case KindAnswer:
			a := e.Answer
			switch op, called := calls[a.Order]; {
			case !called:
				broken = append(broken, fmt.Sprintf("%s was answered before it was called", a.Order))
			case op != a.Op:
				broken = append(broken, fmt.Sprintf("%s was called to %s and answered to %s", a.Order, op, a.Op))
			case answers[a.Order]:
				broken = append(broken, fmt.Sprintf("%s was answered twice", a.Order))
			}
			answers[a.Order] = true
			if a.Outcome != OK && a.Outcome != Failed && a.Outcome != Unknown {
				broken = append(broken, fmt.Sprintf("%s was answered %q, which is no outcome", a.Order, a.Outcome))
			}
		}
	}
	return broken
}

func validateWire(h []Event) []string {
	var broken []string
	links := map[int]string{}
	type exchange struct {
		conn int
		n    uint64
	}
	requests, replies := map[exchange]bool{}, map[exchange]bool{}
	for _, e := range h {
		if e.Kind != KindWire {
			continue
		}
		w := e.Wire
		if link, known := links[w.Conn]; known && link != w.Link {
			broken = append(broken, fmt.Sprintf("event %d: connection %d is on %s and on %s", e.Seq, w.Conn, link, w.Link))
		}
		links[w.Conn] = w.Link
		x := exchange{w.Conn, w.Exchange}
		switch w.What {
		case WireRequest:
			requests[x] = true
		case WireReply, WireAnswered:
			if !requests[x] {
				broken = append(broken, fmt.Sprintf("event %d: a reply on %s to a request that was never delivered", e.Seq, w.Link))
			}
			if w.What == WireReply && replies[x] {
				broken = append(broken, fmt.Sprintf("event %d: a second reply on %s to one request", e.Seq, w.Link))
			}
			replies[x] = replies[x] || w.What == WireReply
		case WireOpen, WireClose, WireOneWay, WirePush, WireHeld, WireReleased, WireDropped, WireOpaque:
		default:
			broken = append(broken, fmt.Sprintf("event %d: %q is nothing that happens on a wire", e.Seq, w.What))
		}
	}
	return broken
}

// validateLedgers checks that the final readings are there, once each, and
// that nothing could still change when they were made.
func validateLedgers(h []Event) []string {
	var broken []string
	quiesced := 0
	for _, e := range h {
		if e.Kind == KindQuiesced {
			quiesced = e.Seq
		}
	}
	if quiesced == 0 {
		broken = append(broken, "the servers were never seen quiet: a transaction may have been open when the ledgers were read")
	}
	finals := map[string]int{}
	for _, e := range h {
		switch {
		case e.Kind == KindLedger && e.Ledger.Final:
			finals[e.Ledger.Name]++
			if e.Seq < quiesced {
				broken = append(broken, fmt.Sprintf("the final %s ledger was read before the servers were quiet", e.Ledger.Name))
			}
		case quiesced == 0 || e.Seq < quiesced:
		case e.Kind == KindCall,
			e.Kind == KindProcess && started(&e),
			e.Kind == KindWire && (e.Wire.What == WireRequest || e.Wire.What == WireOneWay):
			broken = append(broken, fmt.Sprintf("event %d: something was still done after the servers were quiet", e.Seq))
		}
	}
	for _, name := range []string{LedgerCommitted, LedgerLog, LedgerApplied} {
		if n := finals[name]; n != 1 {
			broken = append(broken, fmt.Sprintf("the final %s ledger was read %d times, and must be read once", name, n))
		}
	}
	return broken
}

// follows reports whether a message can come next in a log: the events of one
// message are numbered at its position.
func follows(before []Message, m Message) bool {
	if len(before) == 0 {
		return m.Part == 0
	}
	last := before[len(before)-1]
	return m.Position > last.Position && m.Part == 0 || m.Position == last.Position && m.Part == last.Part+1
}

// validateReadings checks each reading of a ledger, and that none of a judged
// ledger follows its final one.
func validateReadings(h []Event) []string {
	var broken []string
	final := map[string]bool{}
	for _, e := range h {
		if e.Kind != KindLedger {
			continue
		}
		l := e.Ledger
		bad := func(what string) {
			broken = append(broken, fmt.Sprintf("event %d: the %s ledger %s", e.Seq, l.Name, what))
		}
		judged := l.Name == LedgerCommitted || l.Name == LedgerLog || l.Name == LedgerApplied
		if judged && final[l.Name] {
			bad("was read again after its final reading")
		}
		final[l.Name] = final[l.Name] || l.Final
		switch l.Name {
		case LedgerLog:
			for i, m := range l.Log {
				if !follows(l.Log[:i], m) {
					bad("does not have its positions in order")
					break
				}
			}
		case LedgerApplied:
			for _, a := range l.Applied {
				if a.Count < 0 {
					bad("counts below zero")
				}
			}
		case LedgerPending:
			if l.Pending == nil {
				bad("has no number")
			} else if *l.Pending < 0 {
				bad("counts below zero")
			}
		case LedgerCommitted, LedgerBroker, LedgerBackends:
		default:
			bad("is none that this checker knows")
		}
	}
	return broken
}
