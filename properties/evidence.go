package properties

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// around is how many exchanges of the struck instance are shown on each side
// of a fault.
const around = 6

// most bounds the lines of a violation's evidence.
const most = 120

// evidence tells, in the order of the history, what a person needs to believe
// a violation: the order's call, commit and answer, what was published and
// delivered of it, the faults with the exchanges around them, the lives of the
// processes, how the wait ended; then the facts from the ledgers.
func (ix *index) evidence(order, id string, facts []string) []string {
	lines := map[int]string{} // by seq
	tell := func(e *Event, text string) {
		if e == nil {
			return
		}
		if _, told := lines[e.Seq]; !told {
			lines[e.Seq] = at(e) + "  " + text
		}
	}
	ix.tellOrder(order, tell)
	positions := map[uint64]bool{}
	for _, l := range ix.log {
		if id != "" && l.EventID == id {
			positions[l.Position] = true
		}
	}
	for _, x := range ix.exchanges {
		if ServerOf(x.conn.link) == "broker" && (x.isOf(order) || x.has(id) ||
			RoleOf(x.conn.link) == "consumer" && positions[x.position]) {
			tell(x.events[0], x.story())
		}
	}
	for _, x := range ix.exchanges {
		if id != "" && x.push != nil && RoleOf(x.conn.link) == "consumer" && (x.has(id) || positions[x.position]) {
			ix.tellApplication(x, tell)
		}
	}
	for _, f := range ix.faults {
		for _, e := range []*Event{f.fired, f.released, f.healed, f.notFired} {
			if e != nil {
				tell(e, faultText(e.Fault))
			}
		}
		for _, x := range ix.around(f) {
			tell(x.events[0], x.story())
		}
	}
	for _, e := range ix.processes {
		if after(e, ix.drain) {
			continue // what ends with the trial explains nothing
		}
		tell(e, strings.TrimSpace(e.Process.Instance+" "+e.Process.What+" "+e.Process.Status))
	}
	for i := range ix.h {
		if e := &ix.h[i]; e.Kind == KindStall {
			tell(e, fmt.Sprintf("the harness stood still for %v: nothing before this counts as waited", e.Stall.For))
		}
	}
	tell(ix.drain, drainText(ix.drain))

	var text []string
	seqs := make([]int, 0, len(lines))
	for seq := range lines {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	for _, seq := range seqs {
		text = append(text, lines[seq])
	}
	if len(text) > most {
		left := len(text) - most
		text = append(text[:most/2:most/2], text[len(text)-most/2:]...)
		text = slices.Insert(text, most/2, fmt.Sprintf("(%d lines left out; the history has them)", left))
	}
	for _, fact := range facts {
		text = append(text, "ledgers: "+fact)
	}
	return text
}

func (ix *index) tellOrder(order string, tell func(*Event, string)) {
	if call := ix.calls[order]; call != nil {
		tell(call, fmt.Sprintf("%s is asked to %s %s", call.Call.Instance, call.Call.Op, order))
	}
	if a := ix.answers[order]; a != nil {
		tell(a, because(fmt.Sprintf("the app's answer for %s: %s", order, a.Answer.Outcome), a.Answer.Error))
	}
	w := ix.window(order)
	if w.from == 0 {
		return
	}
	for _, x := range ix.exchanges {
		if RoleOf(x.conn.link) != "app" || ServerOf(x.conn.link) != "postgres" {
			continue
		}
		first := x.events[0].Seq
		if first > w.from && first < w.until && !strings.HasSuffix(x.label, " idle") {
			tell(x.events[0], x.story())
		}
	}
}

// tellApplication tells what the process of a consumer did in its database from a
// delivery up to its acknowledgement, its redelivery, or the end of the process.
func (ix *index) tellApplication(delivery *exchange, tell func(*Event, string)) {
	instance := InstanceOf(delivery.conn.link)
	from, until := delivery.push.Seq, math.MaxInt
	for _, x := range ix.exchanges {
		e := x.events[0]
		if e.Seq > from && x.conn.link == delivery.conn.link && x.position == delivery.position && e.Wire.Consumer == delivery.push.Wire.Consumer {
			until = min(until, e.Seq)
		}
	}
	for _, e := range ix.processes {
		if e.Seq > from && e.Process.Instance == instance {
			until = min(until, e.Seq)
		}
	}
	for _, x := range ix.exchanges {
		first := x.events[0]
		if first.Seq > from && first.Seq < until && InstanceOf(x.conn.link) == instance && ServerOf(x.conn.link) == "postgres" && !strings.HasSuffix(x.label, " idle") {
			tell(first, x.story())
		}
	}
}

// around returns the exchanges of the struck instance just before and just
// after the fault.
func (ix *index) around(f *fault) []*exchange {
	if f.fired == nil {
		return nil
	}
	var before, behind []*exchange
	for _, x := range ix.exchanges {
		switch {
		case InstanceOf(x.conn.link) != InstanceOf(f.on):
		case x.events[0].Seq < f.fired.Seq:
			before = append(before, x)
		default:
			behind = append(behind, x)
		}
	}
	return slices.Concat(before[max(0, len(before)-around):], behind[:min(around, len(behind))])
}

// name is how people and scenario files call an exchange.
func name(x *exchange) string {
	return fmt.Sprintf("%s %s #%d", x.conn.link, strconv.Quote(x.label), x.n)
}

// story tells everything the wire showed of one exchange in one line.
func (x *exchange) story() string {
	var b strings.Builder
	b.WriteString(name(x))
	if of := x.orders(); len(of) > 0 {
		b.WriteString(" of " + strings.Join(of, ", "))
	}
	b.WriteString(":")
	for i, e := range x.events {
		if i > 0 {
			b.WriteString(",")
		}
		what, more := x.what(e)
		b.WriteString(" " + what)
		if i > 0 {
			b.WriteString(" at " + at(e))
		}
		if more != "" {
			b.WriteString(" (" + more + ")")
		}
	}
	if x.request != nil && x.done() == nil {
		b.WriteString(", and its end was never seen")
	}
	return b.String()
}

// what tells one event of the exchange, and what came with it.
func (x *exchange) what(e *Event) (what, more string) {
	w := e.Wire
	var told []string
	if w.Position != 0 {
		told = append(told, fmt.Sprintf("position %d", w.Position))
	}
	switch w.What {
	case WireRequest:
		what = "delivered"
	case WireOneWay:
		what = "delivered without a confirmation"
	case WirePush:
		what = "the server's message delivered"
	case WireHeld:
		what = "held at the proxy"
	case WireReleased:
		what = "released"
	case WireDropped:
		what = "dropped"
	case WireReply:
		what = "answered"
	case WireAnswered:
		what = "processed, its reply withheld"
	}
	if w.Error != "" {
		told = append(told, "error "+w.Error)
	}
	if w.Ended != "" {
		told = append(told, "the transaction ended: "+w.Ended)
	}
	if w.Write && w.Rows > 0 {
		told = append(told, fmt.Sprintf("%d rows written", w.Rows))
	}
	return what, strings.Join(told, ", ")
}

func faultText(f *Fault) string {
	text := "fault " + f.What + ": " + f.Text
	if f.On != "" {
		text += " (on " + f.On + ")"
	}
	return because(text, f.Why)
}

func drainText(e *Event) string {
	if e == nil {
		return ""
	}
	d := e.Drain
	health := "everything was healthy"
	if !d.Healthy {
		health = "not everything was healthy"
	}
	return because(fmt.Sprintf("the wait for the outbox ended on: %s, after %d polls and %v; %s", d.Basis, d.Polls, d.Time, health), d.Why)
}

// committedFact tells where the order's row was seen.
func (ix *index) committedFact(order string) string {
	s := ix.committed[order]
	row := "its row"
	if s.id != "" {
		row = "its row " + s.id
	}
	return fmt.Sprintf("%s is committed: %s was first read at %s", order, row, at(s.event))
}

// logFact tells what the final log holds.
func (ix *index) logFact() string {
	messages := ix.final.log.Ledger.Log
	if len(messages) == 0 {
		return "the final log is empty"
	}
	var held []string
	for i, m := range messages {
		if i == 20 {
			held = append(held, "and more")
			break
		}
		held = append(held, fmt.Sprintf("%s at position %d", ix.orderOf(m.Order), m.Position))
	}
	return fmt.Sprintf("the final log holds %d events: %s", len(messages), strings.Join(held, ", "))
}
