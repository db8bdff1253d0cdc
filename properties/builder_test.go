package properties

import (
	"slices"
	"time"
)

// builder writes histories the way a trial does, in few words. Its ledgers
// follow what was placed, published and applied, and a test bends them.
type builder struct {
	h         []Event
	trial     *Trial
	at        time.Duration
	step      time.Duration
	conns     map[string]int
	lastConn  int
	exchanges map[int]uint64
	counts    map[string]int

	committed []Row
	log       []Message
	applied   []Effect
	pending   int64
	backlog   []Backlog
	bypassed  []string
	missing   int
}

// begin starts a fault-free trial of the orders, all processes running.
func begin(orders ...string) *builder {
	b := &builder{
		step: time.Millisecond, conns: map[string]int{}, exchanges: map[int]uint64{}, counts: map[string]int{},
		trial: &Trial{
			Version: Version, Target: "t", Orders: orders, Consumers: []string{"kitchen", "billing"},
			Promise: Promise{Polls: 3, Time: 20 * time.Millisecond}, Pending: true,
			Roles: []string{"app", "relay", "consumer"},
		},
		backlog: []Backlog{{Consumer: "kitchen"}, {Consumer: "billing"}},
	}
	b.add(Event{Kind: KindTrial, Trial: b.trial})
	for _, instance := range []string{"app.0", "relay.0", "consumer.0"} {
		b.process(instance, "started")
	}
	return b
}

// struck starts a trial with one planned fault.
func struck(fault string, orders ...string) *builder {
	b := begin(orders...)
	b.trial.Faults = []string{fault}
	return b
}

func (b *builder) add(e Event) *builder {
	e.Seq, e.At = len(b.h)+1, b.at
	b.at += b.step
	b.h = append(b.h, e)
	return b
}

func (b *builder) process(instance, what string) *builder {
	return b.add(Event{Kind: KindProcess, Process: &Process{Instance: instance, What: what}})
}

func (b *builder) fault(what, do, on string, why ...string) *builder {
	text := do + " at a point of " + on
	if len(b.trial.Faults) > 0 {
		text = b.trial.Faults[0]
	}
	f := &Fault{What: what, Do: do, On: on, Text: text}
	if len(why) > 0 {
		f.Why = why[0]
	}
	return b.add(Event{Kind: KindFault, Fault: f})
}

// wire adds one event of the link's open connection, and opens one first when
// there is none.
func (b *builder) wire(link string, w Wire) *builder {
	conn, open := b.conns[link]
	if !open {
		b.lastConn++
		conn = b.lastConn
		b.conns[link] = conn
		b.add(Event{Kind: KindWire, Wire: &Wire{Link: link, Conn: conn, What: WireOpen}})
	}
	w.Link, w.Conn = link, conn
	return b.add(Event{Kind: KindWire, Wire: &w})
}

// closed ends the link's connection.
func (b *builder) closed(link string) *builder {
	b.wire(link, Wire{What: WireClose})
	delete(b.conns, link)
	return b
}

// next starts an exchange: the caller gives what happens in it.
func (b *builder) next(link, label string, ws ...Wire) *builder {
	if _, open := b.conns[link]; !open {
		b.wire(link, Wire{What: WireOpaque})
		b.h = b.h[:len(b.h)-1]
	}
	conn := b.conns[link]
	b.exchanges[conn]++
	b.counts[link+label]++
	n, count := b.exchanges[conn], b.counts[link+label]
	for _, w := range ws {
		w.Exchange, w.Label, w.N = n, label, count
		b.wire(link, w)
	}
	return b
}

var (
	request = Wire{What: WireRequest}
	reply   = Wire{What: WireReply}
	sealed  = Wire{What: WireReply, Ended: "commit", Write: true}
	back    = Wire{What: WireReply, Ended: "rollback"}
)

// sql adds answered statements on the link; commit and rollback end the block.
func (b *builder) sql(link string, labels ...string) *builder {
	for _, label := range labels {
		answer := reply
		switch label {
		case "commit":
			answer = sealed
		case "rollback":
			answer = back
		}
		b.next(link, label, request, answer)
	}
	return b
}

func (b *builder) call(order string) *builder {
	op := "place"
	if slices.Contains(b.trial.Aborts, order) {
		op = "abort"
	}
	return b.add(Event{Kind: KindCall, Call: &Call{Op: op, Order: order, Customer: "c1", Instance: "app.0"}})
}

func (b *builder) answer(order string, o Outcome) *builder {
	op := "place"
	if slices.Contains(b.trial.Aborts, order) {
		op = "abort"
	}
	return b.add(Event{Kind: KindAnswer, Answer: &Answer{Op: op, Order: order, Outcome: o}})
}

func (b *builder) row(order string) *builder {
	b.committed = append(b.committed, Row{Order: order, ID: "row-" + order})
	return b
}

const (
	app, relay, broker = "app.0/postgres", "relay.0/postgres", "relay.0/broker"
	work               = "insert orders"
)

func (b *builder) place(orders ...string) *builder {
	for _, order := range orders {
		b.call(order).sql(app, "begin", work, "insert outbox", "commit").answer(order, OK).row(order)
	}
	return b
}

// message puts an event of the order into the log, unseen by any link.
func (b *builder) message(order string) *builder {
	b.log = append(b.log, Message{Position: uint64(len(b.log) + 1), Order: order, EventID: "e-" + order})
	return b
}

// publish has the link publish an event of the order, acknowledged and logged.
func (b *builder) publish(link string, orders ...string) *builder {
	for _, order := range orders {
		b.message(order)
		b.next(link, "publish",
			Wire{What: WireRequest, Order: order, EventID: "e-" + order},
			Wire{What: WireReply, Position: uint64(len(b.log))})
	}
	return b
}

// relay is one round of the relay for the orders.
func (b *builder) relay(orders ...string) *builder {
	b.sql(relay, "begin", "select outbox")
	b.publish(broker, orders...)
	return b.sql(relay, "update outbox", "commit")
}

func (b *builder) deliver(orders ...string) *builder {
	for _, order := range orders {
		b.next("consumer.0/broker", "deliver",
			Wire{What: WirePush, Order: order, EventID: "e-" + order, Position: uint64(len(b.log)), Consumer: "kitchen"})
		b.next("consumer.0/broker", "ack", Wire{What: WireOneWay, Position: uint64(len(b.log)), Consumer: "kitchen"})
	}
	return b
}

func (b *builder) effect(consumer, order string, n int) *builder {
	b.applied = append(b.applied, Effect{EventID: "e-" + order, Consumer: consumer, Count: n})
	return b
}

// apply has both consumers apply the orders' events.
func (b *builder) apply(orders ...string) *builder {
	for _, order := range orders {
		b.deliver(order).effect("kitchen", order, 1).effect("billing", order, 1)
	}
	return b
}

func (b *builder) reading(l Ledger) *builder { return b.add(Event{Kind: KindLedger, Ledger: &l}) }

func (b *builder) readPending(n int64) *builder {
	return b.reading(Ledger{Name: LedgerPending, Pending: &n})
}

// drain ends the wait on the basis, in good health, after spending enough.
func (b *builder) drain(basis Basis, change ...func(*Drain)) *builder {
	if basis == BasisPendingZero {
		b.readPending(b.pending).reading(Ledger{Name: LedgerLog, Log: slices.Clone(b.log)}).readPending(b.pending)
	}
	b.at += 200 * time.Millisecond
	d := &Drain{Basis: basis, Polls: 30, Time: 200 * time.Millisecond, Healthy: true, Consumers: true}
	for _, c := range change {
		c(d)
	}
	return b.add(Event{Kind: KindDrain, Drain: d})
}

// end stops everything, reads the final ledgers and closes the history.
func (b *builder) end() []Event {
	for _, instance := range []string{"app.0", "relay.0", "consumer.0"} {
		b.process(instance, "stopped")
	}
	b.reading(Ledger{Name: LedgerBackends, Bypassed: b.bypassed})
	b.add(Event{Kind: KindQuiesced})
	b.reading(Ledger{Name: LedgerCommitted, Final: true, Committed: b.committed})
	b.reading(Ledger{Name: LedgerLog, Final: true, Log: b.log, Missing: b.missing})
	b.reading(Ledger{Name: LedgerApplied, Final: true, Applied: b.applied})
	if b.trial.Pending {
		b.reading(Ledger{Name: LedgerPending, Final: true, Pending: &b.pending})
	}
	b.reading(Ledger{Name: LedgerBroker, Final: true, Broker: b.backlog})
	b.add(Event{Kind: KindEnd})
	return b.h
}

// complete is a trial in which nothing goes wrong.
func complete(orders ...string) *builder {
	return begin(orders...).place(orders...).relay(orders...).apply(orders...).drain(BasisComplete)
}

// killRelay kills the relay and starts it again.
func (b *builder) killRelay() *builder {
	b.fault("fired", "kill", "relay.0").process("relay.0", "killed")
	b.closed(relay).closed(broker)
	return b.process("relay.0", "started").fault("healed", "kill", "relay.0")
}
