package trial

import (
	"crypto/sha256"
	"fmt"
	"maps"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/properties"
)

// debts are the messages that relays have published and not marked since. A relay
// that is struck between the two publishes again, as soon as its claim on the row
// ends: that can be as long as its lease, in which it looks like one that has nothing
// to do.
type debts struct {
	// unmarked are those of each relay, owed those of relays that were struck.
	unmarked map[faults.Instance]map[string]bool
	owed     map[string]bool
	// wrote: the open transaction of a connection has changed rows.
	wrote map[int]bool
}

func newDebts() debts {
	return debts{unmarked: map[faults.Instance]map[string]bool{}, owed: map[string]bool{}, wrote: map[int]bool{}}
}

// observe takes what passed on a link of a relay. What the server answered counts
// whether the client learns of it or not.
func (d debts) observe(o wire.Observation, w *properties.Wire) {
	relay := o.Link.Instance
	if o.Link.Server == faults.Broker {
		if o.Label == "publish" && o.Event.Message != nil && (o.What == properties.WireRequest || o.What == properties.WireOneWay) {
			if d.unmarked[relay] == nil {
				d.unmarked[relay] = map[string]bool{}
			}
			message := identity(w, o.Event.Message)
			d.unmarked[relay][message] = true
			delete(d.owed, message)
		}
		return
	}
	switch o.What {
	case properties.WireOneWay:
		// A confirmed position of a replication slot.
		if !o.Event.Idle {
			delete(d.unmarked, relay)
		}
	case properties.WireReply, properties.WireAnswered:
		wrote := d.wrote[o.Conn] || o.Event.Write
		d.wrote[o.Conn] = wrote && o.Event.InTransaction
		if wrote && o.Event.Ended == "commit" {
			delete(d.unmarked, relay)
		}
	}
}

// identity is the same in every repeat of a message: its events, or its body.
func identity(w *properties.Wire, m *frame.Message) string {
	if w.EventID != "" {
		return fmt.Sprint(w.EventID, w.More)
	}
	return fmt.Sprintf("%x", sha256.Sum256(m.Data))
}

// struck notes that a relay was struck, or has been started again.
func (d debts) struck(relay faults.Instance) {
	maps.Copy(d.owed, d.unmarked[relay])
	delete(d.unmarked, relay)
}

// owing reports whether a relay that was struck may still publish something again.
func (r *recorder) owing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.debts.owed) > 0
}
