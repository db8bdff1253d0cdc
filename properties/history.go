package properties

import "time"

// Version is the version of the history format. A file with another version
// is refused, not guessed at.
const Version = 1

// Kind says which part of an [Event] is filled in.
type Kind string

// The kinds of events of a history.
const (
	KindTrial    Kind = "trial"    // the first event: what was planned
	KindCall     Kind = "call"     // an order was asked for
	KindAnswer   Kind = "answer"   // the app answered, or will not
	KindWire     Kind = "wire"     // something passed, or was kept from passing, on a link
	KindProcess  Kind = "process"  // a process started, was killed, exited
	KindFault    Kind = "fault"    // a fault fired, healed, or did not fire
	KindLedger   Kind = "ledger"   // one reading of one ledger
	KindSegment  Kind = "segment"  // another segment begins: the one before has drained
	KindStall    Kind = "stall"    // the harness had no turn while it waited for the outbox
	KindDrain    Kind = "drain"    // how the wait for the outbox to drain ended
	KindQuiesced Kind = "quiesced" // no client backend has a transaction any more
	KindProblem  Kind = "problem"  // the harness could not do something it needed
	KindEnd      Kind = "end"      // the last event: the trial ran to its end
)

// Event is one line of a history. Seq counts from 1 without gaps and is the
// total order; At is the time since the trial began: it orders nothing, and
// tells how long was waited.
type Event struct {
	Seq  int           `json:"seq"`
	At   time.Duration `json:"at_ns"`
	Kind Kind          `json:"kind"`

	Trial   *Trial   `json:"trial,omitempty"`
	Call    *Call    `json:"call,omitempty"`
	Answer  *Answer  `json:"answer,omitempty"`
	Wire    *Wire    `json:"wire,omitempty"`
	Process *Process `json:"process,omitempty"`
	Fault   *Fault   `json:"fault,omitempty"`
	Ledger  *Ledger  `json:"ledger,omitempty"`
	Stall   *Stall   `json:"stall,omitempty"`
	Drain   *Drain   `json:"drain,omitempty"`
	Problem string   `json:"problem,omitempty"`
	// Segment numbers the segments after the first, from 1.
	Segment int `json:"segment,omitempty"`
}

// Trial is what was planned and what is promised: all that the rules need to
// know about the target.
type Trial struct {
	Version int    `json:"version"`
	Target  string `json:"target"`
	// Orders are the tokens that the workload places; Aborts those that it asks
	// the business to roll back.
	Orders []string `json:"orders"`
	Aborts []string `json:"aborts,omitempty"`
	// Consumers are the names whose effects are judged.
	Consumers []string `json:"consumers"`
	// Claims are the properties beyond the three that the target promises.
	Claims []string `json:"claims,omitempty"`
	// Promise is the manifest's drain: with everything healthy an event is out
	// within this many polls and this time, whichever takes longer.
	Promise Promise `json:"promise"`
	// OrderTable is the one table that the committed query reads, as labels spell
	// it; empty where there are several, or it is not known.
	OrderTable string `json:"order_table,omitempty"`
	// Pending tells whether the manifest has a query for what is still to do.
	Pending bool `json:"pending"`
	// Faults are the planned faults, one line each; empty for a fault-free run.
	Faults []string `json:"faults,omitempty"`
	// Roles are the target's own roles that run as processes of their own
	// behind proxies, and Servers the servers that each is expected to talk to.
	Roles []string `json:"roles"`
	// Baseline is what the same workload showed without faults; nil when it was
	// not run, or did not earn a pass.
	Baseline *Baseline `json:"baseline,omitempty"`
}

// Promise is a number of polls and a time.
type Promise struct {
	Polls int           `json:"polls"`
	Time  time.Duration `json:"time_ns"`
}

// Call is a request to the app.
type Call struct {
	Op       string `json:"op"` // place or abort
	Order    string `json:"order"`
	Customer string `json:"customer,omitempty"`
	Instance string `json:"instance"`
}

// Outcome is how a call ended as the caller sees it. Unknown is a value with a
// meaning: the order may or may not exist.
type Outcome string

// The outcomes.
const (
	OK      Outcome = "ok"
	Failed  Outcome = "failed"
	Unknown Outcome = "unknown"
)

// Answer is the app's answer to a call. It decides nothing about ghosts or
// losses: only ledgers and the wire do.
type Answer struct {
	Op      string  `json:"op"`
	Order   string  `json:"order"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"`
	// Accepted: the app took the order, to commit it later, as an HTTP status
	// 202 says. With the outcome ok the order was seen committed before this.
	Accepted bool `json:"accepted,omitempty"`
}

// What happened on the wire, for [Wire.What].
const (
	WireOpen     = "open"     // a connection was accepted
	WireClose    = "close"    // a connection ended
	WireRequest  = "request"  // a request was delivered to the server
	WireReply    = "reply"    // a reply was delivered to the client
	WireOneWay   = "one-way"  // a message that nothing confirms was delivered
	WirePush     = "push"     // a server's own message was delivered to the client
	WireHeld     = "held"     // a request, reply or message is kept at the proxy
	WireReleased = "released" // what was held goes on
	WireDropped  = "dropped"  // what was held will never arrive
	WireAnswered = "answered" // the server replied and the reply is withheld
	WireOpaque   = "opaque"   // the codec cannot read this connection any more
)

// Wire is one thing that passed, or was kept from passing, on a link.
type Wire struct {
	Link string `json:"link"` // relay.0/postgres
	Conn int    `json:"conn"` // numbers the connections of the trial
	What string `json:"what"`
	// Exchange numbers the exchanges of the connection; 0 for open and close.
	Exchange uint64 `json:"exchange,omitempty"`
	// Label is the exchange's label, with the suffix " idle" when it touched
	// nothing; N is its occurrence on the link.
	Label string `json:"label,omitempty"`
	N     int    `json:"n,omitempty"`
	// On a reply, and on an answered one:
	Ended string `json:"ended,omitempty"` // commit or rollback: a transaction ended with it
	Write bool   `json:"write,omitempty"`
	Rows  int64  `json:"rows,omitempty"`
	Error string `json:"error,omitempty"`
	// On a broker's message: the order and the event id read from it by the
	// manifest's rules, and the broker's position where it is told. More are the
	// other events of a message that holds several; see [Wire.Carried].
	Order    string    `json:"order,omitempty"`
	EventID  string    `json:"event_id,omitempty"`
	More     []Carried `json:"more,omitempty"`
	Position uint64    `json:"position,omitempty"`
	Consumer string    `json:"consumer,omitempty"`
}

// Carried is an event in a message on a link.
type Carried struct {
	Order   string `json:"order,omitempty"`
	EventID string `json:"event_id,omitempty"`
}

// Carried lists the events that were read from the message, in a list of its
// own.
func (w *Wire) Carried() []Carried {
	first := Carried{Order: w.Order, EventID: w.EventID}
	if first == (Carried{}) && len(w.More) == 0 {
		return nil
	}
	return append([]Carried{first}, w.More...)
}

// Carry makes these the events of the message.
func (w *Wire) Carry(events []Carried) {
	w.Order, w.EventID, w.More = "", "", nil
	if len(events) > 0 {
		w.Order, w.EventID = events[0].Order, events[0].EventID
	}
	if len(events) > 1 {
		w.More = events[1:]
	}
}

// Process is a change in the life of an instance.
type Process struct {
	Instance string `json:"instance"`
	What     string `json:"what"` // started, ready, killed, exited, failed to start, stopped
	Status   string `json:"status,omitempty"`
}

// Fault is what became of a planned fault.
type Fault struct {
	Index int    `json:"index"`
	What  string `json:"what"` // fired, released, healed, not fired
	Text  string `json:"text"` // the fault in one line
	Why   string `json:"why,omitempty"`
	// On is the link or the instance that it struck, as concrete as is known;
	// on fired and healed.
	On string `json:"on,omitempty"`
	Do string `json:"do,omitempty"`
}

// The ledgers, for [Ledger.Name].
const (
	LedgerCommitted = "committed" // the rows of the manifest's committed query
	LedgerLog       = "log"       // the broker's log, whole, up to a marker
	LedgerApplied   = "applied"   // the effects, by event id and consumer
	LedgerPending   = "pending"   // the manifest's pending query
	LedgerBroker    = "broker"    // what the broker still holds for each consumer
	LedgerBackends  = "backends"  // server-side connections that no proxy carries
)

// Ledger is one reading of one ledger. Final marks the readings after
// quiescence, with every process stopped.
type Ledger struct {
	Name      string    `json:"name"`
	Final     bool      `json:"final,omitempty"`
	Committed []Row     `json:"committed,omitempty"`
	Log       []Message `json:"log,omitempty"`
	Applied   []Effect  `json:"applied,omitempty"`
	Pending   *int64    `json:"pending,omitempty"`
	Broker    []Backlog `json:"broker,omitempty"`
	// Bypassed are connections to a server that came past the proxies.
	Bypassed []string `json:"bypassed,omitempty"`
	// Missing counts the positions that the log once had and no longer holds.
	Missing int `json:"missing,omitempty"`
	// Other counts the messages of the log that the manifest's when rule says
	// are no events.
	Other int `json:"other,omitempty"`
}

// Row is a committed order: the harness's token and the row's own id.
type Row struct {
	Order string `json:"order"`
	ID    string `json:"id,omitempty"`
}

// Message is one event of the broker's log. Order is empty when the manifest's
// rule found none in it: Unread then says why.
type Message struct {
	Position uint64 `json:"position"`
	// Part numbers the events of a message that holds several, from 0.
	Part    int    `json:"part,omitempty"`
	Order   string `json:"order,omitempty"`
	EventID string `json:"event_id,omitempty"`
	Key     string `json:"key,omitempty"`
	// Sequence is the event's number among those of its order or key, as it is
	// written in it.
	Sequence string `json:"sequence,omitempty"`
	Unread   string `json:"unread,omitempty"`
}

// Effect counts how often a consumer applied an event.
type Effect struct {
	EventID  string `json:"event_id"`
	Consumer string `json:"consumer"`
	Count    int    `json:"count"`
}

// Backlog is what the broker still holds for one consumer: not delivered yet,
// and delivered but not acknowledged.
type Backlog struct {
	Consumer string `json:"consumer"`
	Pending  int64  `json:"pending"`
	Unacked  int64  `json:"unacked"`
	// Abandoned: nobody will ever take what it holds. It was of a process that died,
	// and the one that took its place has a consumer of its own.
	Abandoned bool `json:"abandoned,omitempty"`
}

// Holds reports whether the broker holds something that somebody may yet take.
func (b Backlog) Holds() bool { return !b.Abandoned && (b.Pending != 0 || b.Unacked != 0) }

// Basis is the evidence on which the wait for the outbox ended.
type Basis string

// The bases, from the best to none.
const (
	// BasisComplete: every committed order has its event and every consumer
	// its effect, and the relay was seen to have nothing left to do.
	BasisComplete Basis = "complete"
	// BasisPendingZero: pending was 0 on both sides of a reading of the log,
	// with nothing in flight on the relays' links.
	BasisPendingZero Basis = "pending is zero"
	// BasisPromise: the promise was spent with the relay and its links healthy,
	// and ten times the promise confirmed it.
	BasisPromise Basis = "ten times the promise"
	// BasisNone: the wait ended without evidence; Why says so.
	BasisNone Basis = "none"
)

// Drain is how the wait for the outbox, and then for the consumers, ended.
type Drain struct {
	Basis Basis `json:"basis"`
	// Polls completed and time spent since the last heal, or stall, when it ended.
	Polls int           `json:"polls"`
	Time  time.Duration `json:"time_ns"`
	// Healthy: all faults were healed, and every relay ran and was connected
	// to both servers during the whole wait.
	Healthy bool   `json:"healthy"`
	Why     string `json:"why,omitempty"`
	// Consumers is the evidence for effects that are missing: the broker held
	// nothing for the consumers and they had their grace.
	Consumers bool   `json:"consumers"`
	Grace     string `json:"grace,omitempty"`
}
