package properties

import (
	"maps"
	"slices"
)

// index is a history arranged for the rules. It is built once and only read.
type index struct {
	h     []Event
	trial *Trial
	// relayInApp: the app's process also publishes, so that a commit on its
	// link need not be an order's.
	relayInApp bool
	// orderWrites: an order's commit has a statement on the table of the orders.
	orderWrites bool

	calls   map[string]*Event // by order
	answers map[string]*Event // by order

	// committed is the union of all readings: the first sighting of each order.
	committed map[string]sighting
	// deletes: an order of an earlier committed reading is not in a later one.
	deletes bool
	rowIDs  map[string]string // a row's own id to its order

	// log is the union of all readings of the log; byOrder its part whose
	// order the trial placed.
	log     []logged
	byOrder map[string][]logged
	unread  []Message // messages without an order
	others  int       // messages that are no events
	// strangers are orders with an event that the trial never asked for.
	strangers []string
	final     struct{ committed, log, applied, pending *Event }
	broker    *Event // the last reading
	// logLost: the log once held positions that it no longer holds; gone are
	// those of them that a reading had caught.
	logLost bool
	gone    []Message

	drain     *Event
	stalls    []Stall // of the whole trial
	faults    []*fault
	processes []*Event
	bypassed  []string
	backends  int // readings of the backends

	conns     map[int]*conn
	byKey     map[exchangeKey]*exchange
	exchanges []*exchange // in the order of their first events
	opaque    map[string]bool
	block     map[int]bool // inside an explicit transaction, by connection
}

// sighting is the first reading that shows a committed order.
type sighting struct {
	event *Event
	id    string
}

// logged is a message of the log, with the order it belongs to.
type logged struct {
	Message
	order string
	event *Event // the first reading that holds it
}

func newIndex(h []Event) *index {
	ix := &index{
		h: h, trial: h[0].Trial,
		calls: map[string]*Event{}, answers: map[string]*Event{},
		committed: map[string]sighting{}, rowIDs: map[string]string{},
		byOrder: map[string][]logged{},
		conns:   map[int]*conn{}, byKey: map[exchangeKey]*exchange{},
		opaque: map[string]bool{}, block: map[int]bool{},
	}
	ix.relayInApp = !slices.Contains(ix.trial.Roles, "relay")
	for i := range h {
		e := &h[i]
		switch e.Kind {
		case KindCall:
			ix.calls[e.Call.Order] = e
		case KindAnswer:
			ix.answers[e.Answer.Order] = e
		case KindWire:
			ix.addWire(e)
		case KindProcess:
			ix.processes = append(ix.processes, e)
		case KindFault:
			ix.addFault(e)
		case KindDrain:
			ix.drain = e
		case KindStall:
			ix.stalls = append(ix.stalls, *e.Stall)
		case KindLedger:
			ix.addLedger(e)
		}
	}
	ix.resolve()
	ix.orderWrites = ix.learnOrderWrites()
	return ix
}

func (ix *index) addLedger(e *Event) {
	switch l := e.Ledger; l.Name {
	case LedgerCommitted:
		seen := map[string]bool{}
		for _, row := range l.Committed {
			seen[row.Order] = true
			if known, ok := ix.rowIDs[row.ID]; ok && known != row.Order {
				ix.rowIDs[row.ID] = "" // two rows share it: it names none
			} else {
				ix.rowIDs[row.ID] = row.Order
			}
			if _, known := ix.committed[row.Order]; !known {
				ix.committed[row.Order] = sighting{e, row.ID}
			}
		}
		for order := range ix.committed {
			ix.deletes = ix.deletes || !seen[order]
		}
		if l.Final {
			ix.final.committed = e
		}
	case LedgerLog:
		ix.addLog(e)
		if l.Final {
			ix.final.log = e
		}
	case LedgerApplied:
		if l.Final {
			ix.final.applied = e
		}
	case LedgerPending:
		if l.Final {
			ix.final.pending = e
		}
	case LedgerBroker:
		ix.broker = e
	case LedgerBackends:
		ix.backends++
		ix.bypassed = append(ix.bypassed, l.Bypassed...)
	}
}

// addLog joins one reading of the log to the union. A message that an earlier
// reading held at a position and this one does not was lost by the log.
func (ix *index) addLog(e *Event) {
	ix.logLost = ix.logLost || e.Ledger.Missing > 0
	ix.others = max(ix.others, e.Ledger.Other)
	type place struct {
		position uint64
		part     int
	}
	now := make(map[place]Message, len(e.Ledger.Log))
	for _, m := range e.Ledger.Log {
		now[place{m.Position, m.Part}] = m
	}
	have := make(map[Message]bool, len(ix.log))
	for _, l := range ix.log {
		have[l.Message] = true
		if now[place{l.Position, l.Part}] != l.Message {
			ix.logLost = true
			if !slices.Contains(ix.gone, l.Message) {
				ix.gone = append(ix.gone, l.Message)
			}
		}
	}
	for _, m := range e.Ledger.Log {
		if !have[m] {
			ix.log = append(ix.log, logged{Message: m, event: e})
		}
	}
}

// resolve gives messages their orders, once all rows are known: an event names
// the harness's token or the row's own id.
func (ix *index) resolve() {
	strangers := map[string]bool{}
	for i := range ix.log {
		l := &ix.log[i]
		if l.Order == "" {
			ix.unread = append(ix.unread, l.Message)
			continue
		}
		l.order = ix.orderOf(l.Order)
		if ix.calls[l.order] == nil {
			strangers[l.order] = true
			continue
		}
		ix.byOrder[l.order] = append(ix.byOrder[l.order], *l)
	}
	ix.strangers = sortedKeys(strangers)
	for _, x := range ix.exchanges {
		for i := range x.carries {
			x.carries[i].Order = ix.orderOf(x.carries[i].Order)
		}
	}
}

// orderOf turns what a message calls its order into the trial's token.
func (ix *index) orderOf(name string) string {
	if slices.Contains(ix.trial.Orders, name) || slices.Contains(ix.trial.Aborts, name) {
		return name
	}
	if order := ix.rowIDs[name]; order != "" && name != "" {
		return order
	}
	return name
}

// placed lists all tokens of the trial, in the order of the workload.
func (ix *index) placed() []string {
	all := slices.Concat(ix.trial.Orders, ix.trial.Aborts)
	var once []string
	for _, order := range all {
		if !slices.Contains(once, order) {
			once = append(once, order)
		}
	}
	return once
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
