package trial

import (
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// maxEvents bounds a history: a target that floods its links must not fill our
// memory. Past it the wire is no longer recorded, and the trial says so.
const maxEvents = 200_000

// recorder gives everything that is observed its place in one total order, and
// keeps the few running counts that the drain asks for.
type recorder struct {
	read  *targets.EventReader
	look  *look // nil in a trial that is to be judged
	start time.Time
	clock func() time.Time

	mu       sync.Mutex
	events   []properties.Event
	overflow bool
	changed  chan struct{}
	relay    relayTally
	relayApp bool
	// turned is when each relay's last poll or work was done; disturbed is when a
	// fault last struck an instance or let go of it, or it was started again.
	turned, disturbed map[faults.Instance]time.Time
	debts             debts
	rereads           rereads
	deliveries        deliveries
	// effects counts what may have changed a ledger.
	effects int
}

// relayTally is what the relays were last seen doing.
type relayTally struct {
	// idle counts the polls that found nothing, ever.
	idle int
	// idleSinceWork counts them since the last exchange that was not idle.
	idleSinceWork int
	// lastAny and lastWork are the times of the last exchange of any kind and
	// of the last that was not idle.
	lastAny, lastWork time.Time
	// never: no exchange of a relay has been seen at all.
	never bool
}

func newRecorder(read *targets.EventReader, relayInApp bool, clock func() time.Time) *recorder {
	now := clock()
	return &recorder{
		read: read, start: now, clock: clock, changed: make(chan struct{}), relayApp: relayInApp,
		relay:  relayTally{lastAny: now, lastWork: now, never: true},
		turned: map[faults.Instance]time.Time{}, disturbed: map[faults.Instance]time.Time{},
		debts: newDebts(), rereads: rereads{}, deliveries: newDeliveries(),
	}
}

// add appends an event and wakes whoever waits for a change.
func (r *recorder) add(e properties.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind != properties.KindLedger {
		r.effects++
	}
	r.append(e)
	r.notice(e)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) append(e properties.Event) {
	if len(r.events) >= maxEvents && e.Kind == properties.KindWire {
		r.overflow = true
		return
	}
	e.Seq = len(r.events) + 1
	e.At = r.clock().Sub(r.start)
	r.events = append(r.events, e)
}

func (r *recorder) problem(text string) {
	r.add(properties.Event{Kind: properties.KindProblem, Problem: text})
}

// wait returns a channel that is closed at the next event.
func (r *recorder) wait() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// effectsSoFar counts what may have changed a ledger.
func (r *recorder) effectsSoFar() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.effects
}

// tally returns what the relays were last seen doing.
func (r *recorder) tally() relayTally {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.relay
}

// history returns everything recorded, and whether nothing was left out.
func (r *recorder) history() (events []properties.Event, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events, !r.overflow
}

// observe takes what the board saw. It runs under the board's lock and calls
// nothing of the board.
func (r *recorder) observe(o wire.Observation) {
	w := &properties.Wire{
		Link: o.Link.String(), Conn: o.Conn, What: o.What, Exchange: o.Exchange, Label: o.Label, N: o.N,
		Ended: o.Event.Ended, Write: o.Event.Write, Error: o.Event.Error,
	}
	if o.Event.Rows > 0 {
		w.Rows = o.Event.Rows
	}
	r.readMessage(w, o.Event.Message)
	r.look.published(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(o, w)
	r.deliveries.observe(o)
	if o.Event.Write || o.Event.Ended == "commit" || o.What == properties.WireOneWay || o.Link.Server == faults.Broker {
		r.effects++
	}
	r.append(properties.Event{Kind: properties.KindWire, Wire: w})
	close(r.changed)
	r.changed = make(chan struct{})
}

// readMessage adds what a broker's message says of itself.
func (r *recorder) readMessage(w *properties.Wire, m *frame.Message) {
	if m == nil {
		return
	}
	w.Position, w.Consumer = m.Sequence, m.Consumer
	if w.Label != "publish" && w.Label != "deliver" {
		return
	}
	var carried []properties.Carried
	for _, e := range r.read.Events(targets.Message{Topic: m.Subject, Key: m.Subject, Header: m.Header, Body: m.Data}) {
		if e.Err == nil && e.Event {
			carried = append(carried, properties.Carried{Order: e.Order, EventID: e.ID})
		}
	}
	w.Carry(carried)
}

// count keeps the relays' tally. Only whole exchanges count, and connecting is
// no work.
func (r *recorder) count(o wire.Observation, w *properties.Wire) {
	if o.Link.Role != "relay" && !(r.relayApp && o.Link.Role == "app") {
		return
	}
	now := r.clock()
	r.debts.observe(o, w)
	switch o.What {
	case properties.WireRequest, properties.WireReply, properties.WireOneWay, properties.WirePush, properties.WireAnswered:
	default:
		return
	}
	r.relay.lastAny, r.relay.never = now, false
	if o.What != properties.WireReply && o.What != properties.WireOneWay {
		return
	}
	poll := r.rereads.poll(o)
	switch {
	case poll:
		r.relay.idle++
		r.relay.idleSinceWork++
		r.turned[o.Link.Instance] = now
	case o.Event.Write || o.Event.Rows > 0 || o.Label == "publish":
		r.relay.idleSinceWork = 0
		r.relay.lastWork = now
		r.turned[o.Link.Instance] = now
	}
}
