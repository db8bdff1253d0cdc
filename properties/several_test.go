package properties

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// together puts the events of the orders into the log as one message.
func (b *builder) together(orders ...string) *builder {
	position := uint64(1)
	if n := len(b.log); n > 0 {
		position = b.log[n-1].Position + 1
	}
	for part, order := range orders {
		b.log = append(b.log, Message{Position: position, Part: part, Order: order, EventID: "e-" + order})
	}
	return b
}

// carrying is a message on a link with the events of the orders.
func carrying(what string, orders ...string) Wire {
	var events []Carried
	for _, order := range orders {
		events = append(events, Carried{Order: order, EventID: "e-" + order})
	}
	w := Wire{What: what}
	w.Carry(events)
	return w
}

// publishTogether publishes the events of the orders in one message.
func (b *builder) publishTogether(link string, orders ...string) *builder {
	b.together(orders...)
	return b.next(link, "publish", carrying(WireRequest, orders...), Wire{What: WireReply, Position: b.log[len(b.log)-1].Position})
}

// applyTogether delivers them in one message, and the kitchen applies each n
// times.
func (b *builder) applyTogether(n int, orders ...string) *builder {
	w := carrying(WirePush, orders...)
	w.Position, w.Consumer = b.log[len(b.log)-1].Position, "kitchen"
	b.next("consumer.0/broker", "deliver", w)
	b.next("consumer.0/broker", "ack", Wire{What: WireOneWay, Position: w.Position, Consumer: "kitchen"})
	for _, order := range orders {
		b.effect("kitchen", order, n).effect("billing", order, 1)
	}
	return b
}

func (b *builder) relayTogether(orders ...string) *builder {
	b.sql(relay, "begin", "select outbox").publishTogether(broker, orders...)
	return b.sql(relay, "update outbox", "commit")
}

// goneTogether has o1 and o2 published in a message that the log does not hold;
// a repeat is acknowledged with the position of another.
func goneTogether(repeat bool) []Event {
	b := begin("o1", "o2", "o3").place("o1", "o2", "o3").relay("o3").apply("o3")
	b.next(broker, "publish", carrying(WireRequest, "o1", "o2"), Wire{What: WireReply, Position: uint64(1 + len(b.log))})
	if repeat {
		b.h[len(b.h)-1].Wire.Position = 1
	}
	return b.drain(BasisPendingZero).end()
}

// several are cases with messages of several events.
func several() []judgedCase {
	u := UnknownResult
	return []judgedCase{
		{name: "two events in one message", history: func() []Event {
			return begin("o1", "o2", "o3").place("o1", "o2", "o3").relay("o1").relayTogether("o2", "o3").
				apply("o1").applyTogether(1, "o2", "o3").drain(BasisComplete).end()
		}, verdict: Pass},
		{name: "one of two left out of the message", history: func() []Event {
			return begin("o1", "o2", "o3").place("o1", "o2", "o3").relayTogether("o1", "o3").
				applyTogether(1, "o1", "o3").drain(BasisPendingZero).end()
		}, verdict: Fail, lost: Fail, summary: "o2 was committed and its event never reached the broker's log"},
		{name: "one of two in the message is a ghost", history: func() []Event {
			b := struck(killCommit, "o1", "o2").place("o1")
			b.call("o2").sql(app, "begin", work).publishTogether("app.0/broker", "o1", "o2")
			b.next(app, "commit", Wire{What: WireHeld}, Wire{What: WireDropped}).killApp()
			return b.relay().applyTogether(1, "o1", "o2").drain(BasisComplete).end()
		}, verdict: Fail, ghost: Fail, summary: "the broker's log holds an event of o2, which never committed"},
		{name: "one of two in the message applied twice", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relayTogether("o1", "o2").applyTogether(1, "o1", "o2")
			b.applied[2].Count = 2
			return b.drain(BasisComplete).end()
		}, verdict: Fail, applied: Fail, summary: "kitchen applied the event of o2 more than once"},
		{name: "one of two in the message could not be read", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relayTogether("o1", "o2").applyTogether(1, "o1", "o2")
			b.log[1] = Message{Position: 1, Part: 1, Unread: "event 2 of 2: no order"}
			return b.drain(BasisPendingZero).end()
		}, verdict: u, lost: u, ghost: u, applied: u, why: "event 2 of 2: no order"},
		{name: "a message of two acknowledged and not held", history: func() []Event { return goneTogether(false) },
			verdict: u, lost: u, why: "the broker acknowledged it and does not hold it", blame: "acknowledged the event of o1, o2"},
		{name: "a message of two taken for a repeat", history: func() []Event { return goneTogether(true) },
			verdict: Fail, lost: Fail},
		{name: "the second of two published past the proxies", history: func() []Event {
			b := begin("o1", "o2").place("o1", "o2").relay("o1")
			b.log = nil
			return b.together("o1", "o2").applyTogether(1, "o1", "o2").drain(BasisComplete).end()
		}, verdict: u, why: "an event of o2 is in the log and was seen on no link"},

		// An order that the app accepts to commit it later.
		{name: "accepted and committed after a death", history: func() []Event {
			b := struck(killCommit, "o1", "o2").place("o1").relay("o1").apply("o1").call("o2")
			b.fault("fired", "kill", "app.0").process("app.0", "killed").closed(app)
			b.add(Event{Kind: KindAnswer, Answer: &Answer{Op: "place", Order: "o2", Outcome: Unknown, Accepted: true}})
			b.process("app.0", "started").fault("healed", "kill", "app.0")
			// Its row is archived before anybody has read it.
			return b.sql(app, "begin", work, "commit").relay("o2").apply("o2").drain(BasisComplete).end()
		}, verdict: u, ghost: u, why: "a transaction committed on the app's link"},
	}
}

// TestSeveralComeBack: what a message carries is written and read as it was, and
// a message of one event as it always was.
func TestSeveralComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"", "o1", "o2", "e-1"})
		events := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Carried {
			return Carried{Order: word.Draw(t, "order"), EventID: word.Draw(t, "id")}
		})).Draw(t, "events")
		w := &Wire{Link: broker, What: WireRequest, Label: "publish"}
		w.Carry(events)
		h := append(begin("o1").h, Event{Kind: KindWire, Wire: w})
		var file bytes.Buffer
		if err := Write(&file, renumbered(h)); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		if got := back[len(back)-1].Wire; !reflect.DeepEqual(got, w) {
			t.Fatalf("wrote %+v, read %+v", w, got)
		}
		if len(events) == 1 && events[0] == (Carried{}) {
			events = nil
		}
		if got := w.Carried(); !slices.Equal(got, events) {
			t.Fatalf("carried %+v, want %+v", got, events)
		}
	})
	if one := carrying(WireRequest, "o1"); one.More != nil {
		t.Errorf("one event is written as several: %+v", one)
	}
}

// TestPartsAreInOrder: the events of one message are numbered.
func TestPartsAreInOrder(t *testing.T) {
	for _, c := range []struct {
		log  []Message
		good bool
	}{
		{[]Message{{Position: 1}, {Position: 1, Part: 1}, {Position: 2}, {Position: 5}}, true},
		{[]Message{{Position: 1}, {Position: 1}}, false},
		{[]Message{{Position: 1}, {Position: 1, Part: 2}}, false},
		{[]Message{{Position: 1, Part: 1}}, false},
		{[]Message{{Position: 1}, {Position: 2, Part: 1}}, false},
		{[]Message{{Position: 2}, {Position: 1}}, false},
	} {
		b := complete("o1")
		b.log = c.log
		if broken := has(validate(b.end()), "positions in order"); broken == c.good {
			t.Errorf("%+v: refused: %v", c.log, broken)
		}
	}
}
