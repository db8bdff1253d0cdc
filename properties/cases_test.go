package properties

import "time"

// a is a case: a history and what today's checker must say of it.
type judgedCase struct {
	name    string
	history func() []Event
	verdict Verdict
	// results, where they are not pass.
	lost, ghost, applied, outage Verdict
	why                          string // somewhere among the reasons
	summary                      string // of some violation
	blame                        string
}

const killMark = `kill at relay.0/postgres "commit" #2 unanswered`

// lostOne is the history of save-then-send: the relay marks o2, dies, and
// never publishes it.
func lostOne(basis Basis, change ...func(*Drain)) *builder {
	return lostBefore().drain(basis, change...)
}

func lostBefore() *builder {
	b := struck(killMark, "o1", "o2", "o3").place("o1", "o2", "o3").relay("o1").apply("o1")
	b.sql(relay, "begin", "select outbox", "update outbox")
	b.next(relay, "commit", request, Wire{What: WireAnswered, Ended: "commit"}, Wire{What: WireDropped})
	b.killRelay()
	return b.relay("o3").apply("o3")
}

// ghostBegun places o1 rightly, then publishes o2 before its transaction.
func ghostBegun(fault string) *builder {
	b := begin("o1", "o2")
	if fault != "" {
		b.trial.Faults = []string{fault}
	}
	b.place("o1").publish("app.0/broker", "o1")
	b.call("o2").sql(app, "begin", work).publish("app.0/broker", "o2")
	return b
}

const killCommit = `kill at app.0/postgres "commit" #2 before`

func (b *builder) killApp() *builder {
	b.fault("fired", "kill", "app.0").process("app.0", "killed")
	b.closed(app).closed("app.0/broker").answer("o2", Unknown)
	return b.process("app.0", "started").fault("healed", "kill", "app.0")
}

// ghostKilled is the history of send-then-save: killed before the commit.
func ghostKilled() *builder {
	b := ghostBegun(killCommit)
	b.next(app, "commit", Wire{What: WireHeld}, Wire{What: WireDropped})
	return b.killApp()
}

func ghostEnd(b *builder) []Event {
	return b.relay().apply("o1", "o2").drain(BasisComplete).end()
}

// eventApart publishes the event of an order that is rolled back: the statements
// are what the app does beside. The row of placed, if any, is written by the app's
// own statement on the table of the orders.
func eventApart(placed string, beside ...string) []Event {
	b := begin("o1")
	b.trial.Aborts, b.trial.OrderTable = []string{"o2"}, "orders"
	if placed != "" {
		b.place(placed)
	} else {
		b.call("o1").sql(app, "begin", "insert requests", "insert outbox", "commit").answer("o1", OK).row("o1")
	}
	b.call("o2").sql(app, "begin", work, "rollback")
	if len(beside) == 1 {
		b.next(app, beside[0], request, sealed)
	} else {
		b.sql(app, beside...)
	}
	return b.answer("o2", OK).relay("o1", "o2").apply("o1", "o2").drain(BasisComplete).end()
}

// killedBetween commits the event of o2 on one connection and never the order, on
// another.
func killedBetween(known bool) []Event {
	b := struck(killCommit, "o1", "o2").place("o1")
	b.trial.OrderTable, b.trial.Baseline = "orders", &Baseline{Events: map[string]int{"o1": 1, "o2": 1}, OrderWrites: known}
	b.call("o2").sql(app, "begin", work)
	first := b.conns[app]
	delete(b.conns, app)
	b.sql(app, "connect", "begin", "insert outbox", "commit").killApp()
	b.add(Event{Kind: KindWire, Wire: &Wire{Link: app, Conn: first, What: WireClose}})
	return b.relay("o1", "o2").apply("o1", "o2").drain(BasisComplete).end()
}

const hangBroker = `hang app.0/broker at clock 5ms`

// refused has the broker away while o2 is placed.
func refused(do string, o Outcome, on string) *builder {
	b := struck(do+" "+on+" at clock 5ms", "o1", "o2").place("o1").relay("o1").apply("o1")
	b.trial.Claims = []string{WritesSurviveBrokerOutages}
	b.fault("fired", do, on)
	b.call("o2").sql(app, "begin", work, "rollback").answer("o2", o)
	return b
}

func refusedEnd(b *builder, do, on string) []Event {
	return b.fault("healed", do, on).drain(BasisComplete).end()
}

// silent has the relay poll with a pause, lose o2, and fall silent.
func silent(pause, silence time.Duration) *builder {
	b := begin("o1", "o2").place("o1", "o2").relay("o1").apply("o1")
	for range 3 {
		b.at += pause
		b.next(relay, "select outbox idle", request, reply)
	}
	b.at += silence
	return b.drain(BasisPromise, func(d *Drain) { d.Polls, d.Time = 3, silence })
}

// commitUnheard has the app killed when o2 has committed and nobody was told;
// only the final reading shows its row.
func commitUnheard(meanwhile func(*builder)) *builder {
	b := struck(killCommit, "o1", "o2", "o3").place("o1").relay("o1").apply("o1")
	b.call("o2").sql(app, "begin", work)
	meanwhile(b)
	b.next(app, "commit", request, Wire{What: WireAnswered, Ended: "commit"}, Wire{What: WireDropped})
	return b.killApp().row("o2")
}

// lookedBefore moves the look at what the broker holds to before the end.
func lookedBefore(b *builder) []Event {
	b.reading(Ledger{Name: LedgerBroker, Broker: b.backlog})
	return without(b.end(), finalOf(LedgerBroker))
}

func bend(b *builder, change func(*builder)) *builder {
	change(b)
	return b
}

func zero(change ...func(*Drain)) *builder {
	return begin("o1", "o2").place("o1", "o2").relay("o1", "o2").apply("o1").
		deliver("o2").effect("kitchen", "o2", 1).drain(BasisComplete, change...)
}

// othersOnly has a message in its log that is no event, and no event of o1.
func othersOnly(baseline *Baseline) []Event {
	b := struck(killMark, "o1").place("o1")
	b.trial.Baseline = baseline
	b.killRelay().drain(BasisPendingZero).end()
	for _, e := range b.h {
		if e.Ledger != nil && e.Ledger.Name == LedgerLog {
			e.Ledger.Other = 1
		}
	}
	return b.h
}

// renamed has o1 in the log under two ids, both applied; without faults it has
// the usual number.
func renamed(usual int) *builder {
	b := struck(killMark, "o1").place("o1").relay("o1").apply("o1").killRelay()
	b.trial.Baseline = &Baseline{Events: map[string]int{"o1": usual}}
	again := b.log[0]
	again.Position, again.EventID = again.Position+1, "e-another"
	b.log = append(b.log, again)
	return b.effect("kitchen", "another", 1).effect("billing", "another", 1).drain(BasisComplete)
}

func cases() []judgedCase {
	u := UnknownResult
	return append([]judgedCase{
		{name: "complete", history: func() []Event { return complete("o1", "o2", "o3").end() }, verdict: Pass},

		// no-lost-event
		{name: "lost pending zero", history: func() []Event { return lostOne(BasisPendingZero).end() },
			verdict: Fail, lost: Fail, summary: "o2 was committed and its event never reached the broker's log"},
		{name: "lost ten times the promise", history: func() []Event { return lostOne(BasisPromise).end() },
			verdict: Fail, lost: Fail},
		{name: "lost without a fault", history: func() []Event {
			return begin("o1", "o2").place("o1", "o2").relay("o1").apply("o1").drain(BasisPendingZero).end()
		}, verdict: Fail, lost: Fail},
		{name: "lost taken for a repeat", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1").apply("o1")
			b.next(broker, "publish", Wire{What: WireRequest, Order: "o2", EventID: "e-o2"}, Wire{What: WireReply, Position: 1})
			return b.drain(BasisPendingZero).end()
		}, verdict: Fail, lost: Fail},
		{name: "missing and positions may have moved", history: func() []Event {
			b := struck("crash broker at clock 1ms", "o1", "o2").place("o1", "o2").relay("o1").apply("o1")
			b.fault("fired", "crash", "broker").fault("healed", "crash", "broker")
			b.next(broker, "publish", Wire{What: WireRequest, Order: "o2", EventID: "e-o2"}, Wire{What: WireReply, Position: 1})
			return b.drain(BasisPendingZero).end()
		}, verdict: u, lost: u, why: "the broker's loss", blame: "the broker: it acknowledged the event of o2"},
		{name: "lost one-way publish", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1").apply("o1")
			b.next(broker, "publish", Wire{What: WireOneWay, Order: "o2", EventID: "e-o2"})
			return b.drain(BasisPendingZero).end()
		}, verdict: Fail, lost: Fail},
		{name: "missing and the promise not spent", history: func() []Event {
			return lostOne(BasisPromise, func(d *Drain) { d.Polls = 29 }).end()
		}, verdict: u, lost: u, why: "ten times the promised drain was not spent"},
		{name: "missing and the time not spent", history: func() []Event {
			return lostOne(BasisPromise, func(d *Drain) { d.Time = 199 * time.Millisecond }).end()
		}, verdict: u, lost: u, why: "ten times the promised drain was not spent"},
		{name: "lost by a relay that listens", history: func() []Event { return silent(200*time.Millisecond, 6*time.Second).end() },
			verdict: Fail, lost: Fail},
		{name: "missing and the relay was silent for less than its pauses", history: func() []Event {
			return silent(300*time.Millisecond, 6*time.Second).end()
		}, verdict: u, lost: u, why: "ten times the promised drain was not spent"},
		{name: "missing and the relay was silent for a moment", history: func() []Event {
			return silent(10*time.Millisecond, 4*time.Second).end()
		}, verdict: u, lost: u, why: "ten times the promised drain was not spent"},
		{name: "lost after a stall", history: func() []Event { return stood(true, BasisPromise, time.Minute, 200*time.Millisecond) },
			verdict: Fail, lost: Fail},
		{name: "missing and the promise ran out in a stall", history: func() []Event {
			return stood(true, BasisPromise, time.Minute, 199*time.Millisecond)
		}, verdict: u, lost: u, why: "ten times the promised drain was not spent since the harness last stood still"},
		{name: "missing without a promise", history: func() []Event {
			return bend(lostOne(BasisPromise), func(b *builder) { b.trial.Promise = Promise{} }).end()
		}, verdict: u, lost: u, why: "promises no time"},
		{name: "missing without evidence", history: func() []Event {
			return lostOne(BasisNone, func(d *Drain) { d.Why = "the relay was still busy" }).end()
		}, verdict: u, lost: u, why: "ended without evidence: the relay was still busy"},
		{name: "missing though complete", history: func() []Event { return lostOne(BasisComplete).end() },
			verdict: u, lost: u, why: "ended as complete"},
		{name: "missing and unhealthy", history: func() []Event {
			return lostOne(BasisPendingZero, func(d *Drain) { d.Healthy, d.Why = false, "relay.0 lost its broker" }).end()
		}, verdict: u, lost: u, why: "relay.0 lost its broker"},
		{name: "missing and no wait", history: func() []Event { return lostBefore().end() },
			verdict: u, lost: u, why: "did not wait"},
		{name: "missing and disturbed after the wait", history: func() []Event {
			return lostOne(BasisPendingZero).process("relay.0", "started").end()
		}, verdict: u, lost: u, why: "after the wait"},
		{name: "missing and the relay is down", history: func() []Event {
			return lostBefore().process("relay.0", "exited").drain(BasisPendingZero).end()
		}, verdict: u, lost: u, why: "relay.0 did not run"},
		{name: "missing and never healed", history: func() []Event {
			b := struck("hang relay.0/broker at clock 1ms", "o1", "o2").place("o1", "o2").relay("o1").apply("o1")
			return b.fault("fired", "hang", "relay.0/broker").drain(BasisPendingZero).end()
		}, verdict: u, lost: u, why: "never healed"},
		{name: "missing and pending is left", history: func() []Event {
			return bend(lostBefore(), func(b *builder) { b.pending = 1 }).drain(BasisPendingZero).end()
		}, verdict: u, lost: u, why: "not 0"},
		{name: "missing and no pending query", history: func() []Event {
			return bend(lostOne(BasisPendingZero), func(b *builder) { b.trial.Pending = false }).end()
		}, verdict: u, lost: u, why: "no pending query"},
		{name: "missing and the broker acknowledged it", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1").apply("o1")
			b.next(broker, "publish", Wire{What: WireRequest, Order: "o2", EventID: "e-o2"}, Wire{What: WireReply, Position: 2})
			return b.drain(BasisPendingZero).end()
		}, verdict: u, lost: u, why: "the broker acknowledged it and does not hold it: the broker's loss",
			blame: "the broker: it acknowledged the event of o2 and does not hold it"},
		{name: "missing and the relay had it deleted", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1").apply("o1")
			b.next(broker, "publish", Wire{What: WireRequest, Order: "o2", EventID: "e-o2"}, Wire{What: WireReply, Position: 2})
			return b.next(broker, "api stream.msg.delete", request, reply).drain(BasisPendingZero).end()
		}, verdict: u, lost: u, why: `relay.0/broker "api stream.msg.delete" #1 may have asked for that`},
		{name: "lost though the broker lost another one", history: func() []Event {
			b := begin("o1", "o2", "o3").place("o1", "o2", "o3").relay("o1").apply("o1")
			b.next(broker, "publish", Wire{What: WireRequest, Order: "o2", EventID: "e-o2"}, Wire{What: WireReply, Position: 2})
			return b.drain(BasisPendingZero).end()
		}, verdict: Fail, lost: Fail, summary: "o3 was committed", blame: "the broker: it acknowledged the event of o2 and does not hold it"},
		{name: "lost and the broker refused it", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1").apply("o1")
			b.next(broker, "publish", Wire{What: WireRequest, Order: "o2", EventID: "e-o2"}, Wire{What: WireReply, Error: "no stream"})
			return b.drain(BasisPendingZero).end()
		}, verdict: Fail, lost: Fail},
		{name: "missing and the log lost positions", history: func() []Event {
			return bend(lostOne(BasisPendingZero), func(b *builder) { b.missing = 1 }).end()
		}, verdict: u, lost: u, why: "no longer holds all", blame: "the broker: its log lacks messages that it had taken"},
		{name: "event gone from a later reading", history: func() []Event {
			b := complete("o1", "o2").reading(Ledger{Name: LedgerLog, Log: []Message{
				{Position: 1, Order: "o1", EventID: "e-o1"}, {Position: 2, Order: "o2", EventID: "e-o2"}}})
			b.log = b.log[:1]
			return b.end()
		}, verdict: u, why: "no longer holds all", blame: "the broker: it held the event of o2 and no longer does"},
		{name: "event gone from a later reading because the app purged the stream", history: func() []Event {
			b := complete("o1", "o2").reading(Ledger{Name: LedgerLog, Log: []Message{
				{Position: 1, Order: "o1", EventID: "e-o1"}, {Position: 2, Order: "o2", EventID: "e-o2"}}})
			b.log = nil
			return b.next("app.0/broker", "api stream.purge", request, reply).end()
		}, verdict: u, why: `app.0/broker "api stream.purge" #1 may have asked for that`},
		{name: "missing and a message is unread", history: func() []Event {
			return bend(lostOne(BasisPendingZero), func(b *builder) {
				b.log = append(b.log, Message{Position: 9, EventID: "e-?", Unread: "no $.ref in the body"})
				b.effect("kitchen", "?", 1).effect("billing", "?", 1)
			}).end()
		}, verdict: u, lost: u, ghost: u, why: "no $.ref in the body"},
		{name: "missing and an unknown order's event", history: func() []Event {
			return bend(lostOne(BasisPendingZero), func(b *builder) {
				b.log = append(b.log, Message{Position: 9, EventID: "e-x", Order: "x"})
				b.effect("kitchen", "x", 1).effect("billing", "x", 1)
			}).end()
		}, verdict: u, lost: u, ghost: u, why: "an order that the trial never placed"},
		{name: "missing on an opaque broker link", history: func() []Event {
			return lostBefore().wire(broker, Wire{What: WireOpaque}).drain(BasisPendingZero).end()
		}, verdict: u, lost: u, why: "may have acknowledged"},
		{name: "missing and committed too late", history: func() []Event {
			b := begin("o1", "o2").place("o1").relay("o1").apply("o1")
			b.call("o2").sql(app, "begin", work).next(app, "commit", request).answer("o2", Unknown)
			return b.drain(BasisPendingZero).row("o2").end()
		}, verdict: u, lost: u, why: "too late"},
		{name: "missing and committed just before the wait ended", history: func() []Event {
			b := begin("o1", "o2").place("o1").relay("o1").apply("o1")
			b.call("o2").sql(app, "begin", work).next(app, "commit", request).answer("o2", Unknown)
			b.at += 195 * time.Millisecond
			b.row("o2").reading(Ledger{Name: LedgerCommitted, Committed: []Row{{Order: "o2"}}})
			b.at -= 195 * time.Millisecond
			return b.drain(BasisPromise).end()
		}, verdict: u, lost: u, why: "too late"},
		{name: "lost and its commit known by the wire only", history: func() []Event {
			return commitUnheard(func(*builder) {}).drain(BasisPromise).end()
		}, verdict: Fail, lost: Fail},
		{name: "missing and its commit may be another's", history: func() []Event {
			return commitUnheard(func(b *builder) { b.place("o3").relay("o3").apply("o3") }).drain(BasisPromise).end()
		}, verdict: u, lost: u, why: "too late"},
		{name: "lost and its commit known by the answer only", history: func() []Event {
			b := begin("o1", "o2").place("o1").relay("o1").apply("o1")
			return b.call("o2").answer("o2", OK).row("o2").drain(BasisPromise).end()
		}, verdict: Fail, lost: Fail},
		{name: "lost after a cut", history: func() []Event {
			b := struck("cut relay.0/broker at clock 1ms", "o1", "o2").place("o1", "o2").relay("o1").apply("o1")
			return b.fault("fired", "cut", broker).closed(broker).relay().drain(BasisPendingZero).end()
		}, verdict: Fail, lost: Fail},
		{name: "lost after a hold", history: func() []Event {
			b := struck("hold app.0/postgres", "o1", "o2").place("o1").fault("fired", "hold", app).place("o2").fault("released", "hold", app)
			return b.relay("o2").apply("o2").drain(BasisPendingZero).end()
		}, verdict: Fail, lost: Fail},
		{name: "lost after a restart that no heal tells", history: func() []Event {
			b := struck(killMark, "o1", "o2").place("o1", "o2").relay("o1").apply("o1").fault("fired", "kill", "relay.0")
			return b.process("relay.0", "killed").process("relay.0", "started").relay().drain(BasisPendingZero).end()
		}, verdict: Fail, lost: Fail},
		{name: "missing and another event is gone", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1").apply("o1").drain(BasisPendingZero)
			b.log = nil
			return b.end()
		}, verdict: u, lost: u, why: "no longer holds all", blame: "the broker: it held the event of o1 and no longer does"},
		{name: "event by an id that two rows share", history: func() []Event {
			return bend(complete("o1", "o2"), func(b *builder) {
				b.log[1].Order, b.committed[0].ID, b.committed[1].ID = "7", "7", "7"
			}).end()
		}, verdict: u, lost: u, ghost: u, why: "an order that the trial never placed"},
		{name: "event by the row's own id", history: func() []Event {
			return bend(complete("o1", "o2"), func(b *builder) { b.log[1].Order = "row-o2" }).end()
		}, verdict: Pass},

		// no-ghost-event
		{name: "ghost killed before commit", history: func() []Event { return ghostEnd(ghostKilled()) },
			verdict: Fail, ghost: Fail, summary: "the broker's log holds an event of o2, which never committed"},
		{name: "ghost rolled back", history: func() []Event {
			return ghostEnd(ghostBegun("").sql(app, "rollback").answer("o2", Failed))
		}, verdict: Fail, ghost: Fail},
		{name: "ghost of an abort", history: func() []Event {
			b := begin("o1")
			b.trial.Aborts = []string{"o2"}
			b.place("o1").publish("app.0/broker", "o1")
			b.call("o2").sql(app, "begin", work).publish("app.0/broker", "o2").sql(app, "rollback").answer("o2", OK)
			return ghostEnd(b)
		}, verdict: Fail, ghost: Fail, summary: "which the business rolled back"},
		{name: "ghost whose commit failed", history: func() []Event {
			b := ghostBegun("").next(app, "commit", request, Wire{What: WireReply, Ended: "commit", Error: "23503: violates a constraint"})
			return ghostEnd(b.answer("o2", Failed))
		}, verdict: Fail, ghost: Fail},
		{name: "commit answered and its reply lost", history: func() []Event {
			b := ghostBegun(killCommit)
			b.next(app, "commit", request, Wire{What: WireAnswered, Ended: "commit", Write: true})
			return ghostEnd(b.killApp().row("o2"))
		}, verdict: Pass},
		{name: "commit delivered and its end unseen", history: func() []Event {
			return ghostEnd(ghostBegun(killCommit).next(app, "commit", request).killApp())
		}, verdict: u, ghost: u, why: "its end was never seen"},
		{name: "autocommit delivered and its end unseen", history: func() []Event {
			b := struck(killCommit, "o1", "o2").place("o1").publish("app.0/broker", "o1")
			b.call("o2").publish("app.0/broker", "o2").next(app, work, request)
			return ghostEnd(b.killApp())
		}, verdict: u, ghost: u, why: "its end was never seen"},
		{name: "ghost with a statement of its block unanswered", history: func() []Event {
			return ghostEnd(ghostBegun(killCommit).next(app, "insert outbox", request).killApp())
		}, verdict: Fail, ghost: Fail},
		{name: "ghost though the successor commits", history: func() []Event {
			b := ghostKilled()
			b.trial.Orders = append(b.trial.Orders, "o3")
			return ghostEnd(b.place("o3").publish("app.0/broker", "o3").apply("o3"))
		}, verdict: Fail, ghost: Fail},
		{name: "event of an order that the successor committed", history: func() []Event {
			b := struck(killCommit, "o1", "o2").place("o1").publish("app.0/broker", "o1")
			b.reading(Ledger{Name: LedgerCommitted, Committed: []Row{{Order: "o1"}}})
			b.fault("fired", "kill", "app.0").call("o2").process("app.0", "killed").closed(app).closed("app.0/broker")
			b.process("app.0", "started").fault("healed", "kill", "app.0")
			b.sql(app, "begin", work, "commit").publish("app.0/broker", "o2").answer("o2", OK)
			b.committed = nil
			return ghostEnd(b)
		}, verdict: Pass},
		{name: "commit whose reply came after the answer", history: func() []Event {
			b := begin("o1", "o2").place("o1").reading(Ledger{Name: LedgerCommitted, Committed: []Row{{Order: "o1"}}})
			b.relay("o1").call("o2").sql(app, "begin", work)
			b.next(app, "commit", request).answer("o2", Failed)
			b.wire(app, Wire{What: WireReply, Exchange: b.exchanges[b.conns[app]], Label: "commit", Ended: "commit"})
			b.relay("o2").apply("o1", "o2").drain(BasisComplete)
			b.committed = nil
			return b.end()
		}, verdict: Pass},
		{name: "row deleted after publishing", history: func() []Event {
			b := begin("o1", "o2").place("o1").reading(Ledger{Name: LedgerCommitted, Committed: []Row{{Order: "o1"}}})
			b.place("o2").relay("o1", "o2").apply("o1", "o2").drain(BasisComplete)
			b.committed = nil
			return b.end()
		}, verdict: u, why: "o2 was answered ok and is in no committed reading"},
		{name: "row deleted after publishing under a fault", history: func() []Event {
			b := struck(killMark, "o1", "o2").place("o1").reading(Ledger{Name: LedgerCommitted, Committed: []Row{{Order: "o1"}}})
			b.place("o2").relay("o1", "o2").killRelay().apply("o1", "o2").drain(BasisComplete)
			b.committed = nil
			return b.end()
		}, verdict: Pass},
		{name: "commit seen and no row", history: func() []Event {
			return ghostEnd(ghostBegun("").sql(app, "commit").answer("o2", OK))
		}, verdict: u, ghost: u, why: "or the commit was of something else"},
		{name: "commit seen, perhaps of the relay in the app", history: func() []Event {
			b := begin("o1", "o2")
			b.trial.Roles = []string{"app"}
			b.place("o1").reading(Ledger{Name: LedgerCommitted, Committed: []Row{{Order: "o1"}}})
			b.call("o2").sql(app, "begin", "update outbox", "commit").answer("o2", Failed)
			b.publish("app.0/broker", "o1", "o2").apply("o1", "o2").drain(BasisComplete)
			b.committed = nil
			return b.end()
		}, verdict: u, ghost: u, why: "perhaps not its own"},
		{name: "commit seen during an abort", history: func() []Event {
			b := begin("o1")
			b.trial.Aborts = []string{"o2"}
			b.place("o1").reading(Ledger{Name: LedgerCommitted, Committed: []Row{{Order: "o1"}}})
			b.call("o2").sql(app, "begin", work, "rollback", "begin", "insert outbox", "commit").answer("o2", OK)
			b.relay("o1", "o2").apply("o1", "o2").drain(BasisComplete)
			b.committed = nil
			return b.end()
		}, verdict: u, ghost: u, why: "or the commit was of something else"},
		{name: "event of an abort in a transaction of its own", history: func() []Event {
			return eventApart("o1", "begin", "insert outbox", "commit")
		}, verdict: Fail, ghost: Fail, summary: "which the business rolled back"},
		{name: "event of an abort beside a call of who knows what", history: func() []Event {
			return eventApart("o1", "begin", "select record()", "commit")
		}, verdict: u, ghost: u, why: "or the commit was of something else"},
		{name: "event of an abort beside a write of the orders", history: func() []Event {
			return eventApart("o1", "begin", "insert outbox", "update orders", "commit")
		}, verdict: u, ghost: u, why: "or the commit was of something else"},
		{name: "event of an abort in a statement of its own", history: func() []Event {
			return eventApart("o1", "insert outbox; select")
		}, verdict: Fail, ghost: Fail},
		{name: "event of an abort where orders come in by a trigger", history: func() []Event {
			return eventApart("", "begin", "insert outbox", "commit")
		}, verdict: u, ghost: u, why: "or the commit was of something else"},
		{name: "killed between the transactions of the event and of the order", history: func() []Event {
			return killedBetween(true)
		}, verdict: Fail, ghost: Fail, summary: "o2, which never committed"},
		{name: "killed between two transactions, of which nothing is known", history: func() []Event {
			return killedBetween(false)
		}, verdict: u, ghost: u, why: "or the commit was of something else"},
		{name: "commit of another at the same time", history: func() []Event {
			b := begin("o1", "o2").call("o2").publish("app.0/broker", "o2").place("o1").answer("o2", Failed)
			return ghostEnd(b.relay("o1"))
		}, verdict: u, ghost: u, why: "perhaps not its own"},
		{name: "event of an order never asked for", history: func() []Event {
			return bend(complete("o1"), func(b *builder) { b.trial.Orders = []string{"o1", "o2"}; b.publish(broker, "o2"); b.apply("o2") }).end()
		}, verdict: u, ghost: u, why: "planned and never asked for"},
		{name: "ghost behind an opaque link", history: func() []Event {
			return ghostEnd(ghostKilled().wire(app, Wire{What: WireOpaque}))
		}, verdict: u, ghost: u, why: "app.0/postgres could not be read"},
		{name: "ghost past the proxies", history: func() []Event {
			return ghostEnd(bend(ghostKilled(), func(b *builder) { b.bypassed = []string{"backend 7"} }))
		}, verdict: u, ghost: u, why: "came past the proxies"},
		{name: "app never seen", history: func() []Event {
			b := struck(killMark, "o1").call("o1").answer("o1", Failed).relay("o1").killRelay().apply("o1")
			return b.drain(BasisComplete).end()
		}, verdict: u, ghost: u, why: "never seen to talk to Postgres"},
		{name: "order rolled back by the business", history: func() []Event {
			b := begin("o1")
			b.trial.Aborts = []string{"o2"}
			b.place("o1").call("o2").sql(app, "begin", work, "rollback").answer("o2", OK)
			return b.relay("o1").apply("o1").drain(BasisComplete).end()
		}, verdict: Pass},

		// applied-once
		{name: "applied twice", history: func() []Event {
			return bend(complete("o1", "o2"), func(b *builder) { b.applied[2].Count = 2 }).end()
		}, verdict: Fail, applied: Fail, summary: "kitchen applied the event of o2 more than once"},
		{name: "never applied", history: func() []Event { return zero().end() },
			verdict: Fail, applied: Fail, summary: "billing never applied the event of o2"},
		{name: "never applied by other backlog names", history: func() []Event {
			return bend(zero(), func(b *builder) { b.backlog = []Backlog{{Consumer: "durable-1"}} }).end()
		}, verdict: Fail, applied: Fail},
		{name: "never applied though another still waits", history: func() []Event {
			return bend(zero(), func(b *builder) { b.backlog[0].Pending = 1 }).end()
		}, verdict: Fail, applied: Fail},
		{name: "not applied among effects of unknown events", history: func() []Event {
			return zero().effect("billing", "zz", 1).end()
		}, verdict: u, applied: u, why: "belong to no known event and consumer"},
		{name: "not applied and waiting", history: func() []Event {
			return bend(zero(), func(b *builder) { b.backlog[1].Pending = 1 }).end()
		}, verdict: u, applied: u, why: "still holds something"},
		{name: "not applied and unacknowledged", history: func() []Event {
			return bend(zero(), func(b *builder) { b.backlog = []Backlog{{Consumer: "durable-1", Unacked: 1}} }).end()
		}, verdict: u, applied: u, why: "still holds something"},
		{name: "not applied and no backlog", history: func() []Event {
			return bend(zero(), func(b *builder) { b.backlog = nil }).end()
		}, verdict: u, applied: u, why: "nothing tells what the broker still holds"},
		{name: "not applied and no grace", history: func() []Event {
			return zero(func(d *Drain) { d.Consumers, d.Grace = false, "1s was not spent" }).end()
		}, verdict: u, applied: u, why: "1s was not spent"},
		{name: "not applied and consumer down", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1", "o2").apply("o1").deliver("o2")
			return b.process("consumer.0", "exited").drain(BasisPendingZero).end()
		}, verdict: u, applied: u, why: "consumer.0 did not run"},
		{name: "not applied and gone from the log", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1", "o2").apply("o1").drain(BasisPendingZero)
			b.log = b.log[:1]
			return b.end()
		}, verdict: u, applied: u, why: "the final log does not hold the event",
			blame: "the broker: it held the event of o2 and no longer does"},
		{name: "never applied by the last look before the end", history: func() []Event {
			return lookedBefore(zero())
		}, verdict: Fail, applied: Fail},
		{name: "not applied and the last look was before it", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1").apply("o1")
			b.reading(Ledger{Name: LedgerBroker, Broker: b.backlog})
			b.relay("o2").drain(BasisComplete)
			return without(b.end(), finalOf(LedgerBroker))
		}, verdict: u, applied: u, why: "after the last look"},
		{name: "nobody applied anything", history: func() []Event {
			return begin("o1").place("o1").relay("o1").deliver("o1").drain(BasisPendingZero).end()
		}, verdict: u, applied: u, why: "no consumer applied anything"},
		{name: "nobody applied anything where others did without faults", history: func() []Event {
			b := bend(struck(killMark, "o1").place("o1"), func(b *builder) { b.trial.Baseline = &Baseline{Events: map[string]int{"o1": 1}} })
			return b.killRelay().relay("o1").deliver("o1").drain(BasisPendingZero).end()
		}, verdict: Fail, applied: Fail, summary: "never applied the event of o1"},
		{name: "repeat under another id", history: func() []Event { return renamed(1).end() },
			verdict: Fail, applied: Fail, summary: "published again under another id"},
		{name: "two rows of one order, each with its event", history: func() []Event {
			return bend(renamed(1), func(b *builder) { b.committed = append(b.committed, Row{Order: "o1", ID: "another"}) }).end()
		}, verdict: Fail, applied: Fail, summary: "o1 was asked for once and committed 2 times"},
		{name: "lost with the when rule leaving the rest out", history: func() []Event { return othersOnly(&Baseline{Events: map[string]int{"o1": 1}}) },
			verdict: Fail, lost: Fail, summary: "never reached the broker's log"},
		{name: "missing with the when rule leaving everything out", history: func() []Event { return othersOnly(nil) },
			verdict: u, lost: u, why: "the when rule of the manifest leaves all 1 messages of the log out"},
		{name: "two ids as without faults", history: func() []Event { return renamed(2).end() }, verdict: Pass},
		{name: "repeat under another id with nothing to compare with", history: func() []Event {
			return bend(renamed(1), func(b *builder) { b.trial.Baseline = nil }).end()
		}, verdict: Pass},
		{name: "a consumer the manifest does not name", history: func() []Event {
			return complete("o1").effect("Kitchen", "o1", 1).end()
		}, verdict: u, applied: u, why: `the consumer "Kitchen"`},
		{name: "effects of unknown events", history: func() []Event {
			return complete("o1").effect("kitchen", "zz", 1).end()
		}, verdict: u, applied: u, why: "do not agree"},
		{name: "effects of events that the log lost", history: func() []Event {
			return bend(complete("o1"), func(b *builder) { b.missing = 1 }).effect("kitchen", "zz", 1).end()
		}, verdict: u, why: "no longer holds all", blame: "the broker: its log lacks"},
		{name: "events without an id", history: func() []Event {
			return bend(complete("o1", "o2"), func(b *builder) { b.log[1].EventID = ""; b.applied = b.applied[:2] }).end()
		}, verdict: u, applied: u, why: "events without an id"},
		{name: "one id for two orders", history: func() []Event {
			return bend(complete("o1", "o2"), func(b *builder) {
				b.log[1].EventID = "e-o1"
				b.applied = []Effect{{"e-o1", "kitchen", 2}, {"e-o1", "billing", 2}}
			}).end()
		}, verdict: u, applied: u, why: "does not tell events apart"},
		{name: "no consumers", history: func() []Event {
			return bend(complete("o1"), func(b *builder) { b.trial.Consumers = nil; b.applied = nil }).end()
		}, verdict: u, applied: u, why: "names no consumer"},
		{name: "repeat within the batch in flight", history: func() []Event {
			b := struck(killMark, "o1", "o2").place("o1", "o2").sql(relay, "begin", "select outbox").publish(broker, "o1", "o2")
			b.sql(relay, "update outbox").next(relay, "commit", request, Wire{What: WireDropped}).killRelay()
			return b.relay("o1", "o2").apply("o1", "o2").drain(BasisComplete).end()
		}, verdict: Pass},

		// writes-survive-broker-outage
		{name: "refused during a hang", history: func() []Event {
			return refusedEnd(refused("hang", Failed, "app.0/broker"), "hang", "app.0/broker")
		}, verdict: Fail, outage: Fail, summary: "o2 was refused while the broker was away"},
		{name: "refused during a hang, unknown", history: func() []Event {
			return refusedEnd(refused("hang", Unknown, "app.0/broker"), "hang", "app.0/broker")
		}, verdict: Fail, outage: Fail},
		{name: "refused after a cut", history: func() []Event {
			return refused("cut", Failed, "app.0/broker").drain(BasisComplete).end()
		}, verdict: Fail, outage: Fail},
		{name: "refused as without faults", history: func() []Event {
			return bend(refused("hang", Failed, "app.0/broker"), func(b *builder) {
				b.trial.Baseline = &Baseline{Events: map[string]int{"o1": 1}}
			}).fault("healed", "hang", "app.0/broker").drain(BasisComplete).end()
		}, verdict: Pass},
		{name: "refused and not without faults", history: func() []Event {
			return bend(refused("hang", Failed, "app.0/broker"), func(b *builder) {
				b.trial.Baseline = &Baseline{Events: map[string]int{"o1": 1, "o2": 1}}
			}).fault("healed", "hang", "app.0/broker").drain(BasisComplete).end()
		}, verdict: Fail, outage: Fail},
		{name: "refused and not claimed", history: func() []Event {
			b := refused("hang", Failed, "app.0/broker")
			b.trial.Claims = nil
			return refusedEnd(b, "hang", "app.0/broker")
		}, verdict: Pass, outage: Fail},
		{name: "refused after the link was open again", history: func() []Event {
			b := struck("cut relay.0/broker at clock 5ms", "o1", "o2").place("o1").relay("o1").apply("o1")
			b.trial.Claims = []string{WritesSurviveBrokerOutages}
			b.fault("fired", "cut", "relay.0/broker").closed(broker).next(broker, "publish", request, reply)
			return b.call("o2").answer("o2", Failed).drain(BasisComplete).end()
		}, verdict: Pass},
		{name: "refused after the hang was healed", history: func() []Event {
			b := struck("hang relay.0/broker at clock 5ms", "o1", "o2").place("o1").relay("o1").apply("o1")
			b.trial.Claims = []string{WritesSurviveBrokerOutages}
			b.fault("fired", "hang", "relay.0/broker").fault("healed", "hang", "relay.0/broker")
			return b.call("o2").answer("o2", Failed).drain(BasisComplete).end()
		}, verdict: Pass},
		{name: "refused with its own database cut off", history: func() []Event {
			b := struck("cut app.0/postgres at clock 5ms", "o1", "o2").place("o1").relay("o1").apply("o1")
			b.trial.Claims = []string{WritesSurviveBrokerOutages}
			b.fault("fired", "cut", app).closed(app)
			return b.call("o2").answer("o2", Failed).drain(BasisComplete).end()
		}, verdict: Pass},
		{name: "refused with both cut off", history: func() []Event {
			b := refused("hang", Failed, "app.0/broker")
			b.trial.Faults = append(b.trial.Faults, "cut app.0/postgres at clock 1ms")
			i := b.h[len(b.h)-1] // the answer goes last again
			b.h = b.h[:len(b.h)-1]
			b.add(Event{Kind: KindFault, Fault: &Fault{Index: 1, What: "fired", Do: "cut", On: app, Text: "cut app.0/postgres"}})
			b.add(Event{Kind: KindAnswer, Answer: i.Answer})
			return refusedEnd(b, "hang", "app.0/broker")
		}, verdict: Pass},
		{name: "unknown with another's broker hung", history: func() []Event {
			return refusedEnd(refused("hang", Unknown, "relay.0/broker"), "hang", "relay.0/broker")
		}, verdict: Pass},
		{name: "refused and the app exited", history: func() []Event {
			b := struck(hangBroker, "o1", "o2").place("o1").relay("o1").apply("o1")
			b.trial.Claims = []string{WritesSurviveBrokerOutages}
			b.fault("fired", "hang", "app.0/broker").call("o2").process("app.0", "exited").answer("o2", Unknown)
			return refusedEnd(b, "hang", "app.0/broker")
		}, verdict: Pass},
		{name: "refused and perhaps committed", history: func() []Event {
			b := struck(hangBroker, "o1", "o2").place("o1").relay("o1").apply("o1")
			b.trial.Claims = []string{WritesSurviveBrokerOutages}
			b.fault("fired", "hang", "app.0/broker").call("o2").sql(app, "begin", work, "commit").answer("o2", Failed)
			return refusedEnd(b, "hang", "app.0/broker")
		}, verdict: u, outage: u, why: "may have committed it"},
		{name: "refused and its commit delivered", history: func() []Event {
			b := struck(hangBroker, "o1", "o2").place("o1").relay("o1").apply("o1")
			b.trial.Claims = []string{WritesSurviveBrokerOutages}
			b.fault("fired", "hang", "app.0/broker").call("o2").sql(app, "begin", work).next(app, "commit", request).answer("o2", Failed)
			return refusedEnd(b, "hang", "app.0/broker")
		}, verdict: u, outage: u, why: "may have committed it"},
		{name: "refused behind an opaque link", history: func() []Event {
			return refusedEnd(refused("hang", Failed, "app.0/broker").wire(app, Wire{What: WireOpaque}), "hang", "app.0/broker")
		}, verdict: u, outage: u, why: "passed unseen"},
		{name: "claim that no rule judges", history: func() []Event {
			return bend(complete("o1"), func(b *builder) { b.trial.Claims = []string{"drains-quickly"} }).end()
		}, verdict: u, why: "no rule judges this claim"},
	}, several()...)
}
