package trial

import (
	"reflect"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

func TestOrderOfAnEvent(t *testing.T) {
	o := newOrders([]string{"o1", "o2", "7"})
	ids := rowIDs{}
	for _, row := range [][2]string{{"17", "o1"}, {"18", "o2"}, {"9", "o1"}, {"9", "o2"}, {"", "o1"}, {"o2", "somebody else's"}, {"7", "o1"}, {"21", "foreign"}} {
		ids.note(row[0], row[1])
	}
	for named, want := range map[string]string{
		"o1": "o1", targets.UUID("o1"): "o1", strings.ToUpper(targets.UUID("o2")): "o2", "web-o1": "o1",
		"17": "o1", "18": "o2",
		"9":         "9",       // two rows have it
		"":          "",        // a row without an id names nothing
		"o2":        "o2",      // the first column of committed showed something else
		"7":         "",        // an order's token, and another's own id
		"o3":        "o3",      // unknown
		"21":        "foreign", // a row of nobody's
		"o1 and o2": "", "web-o1/17": "o1",
	} {
		got, err := o.of(named, ids)
		ambiguous := want == "" && named != ""
		if got != want || (err != nil) != ambiguous {
			t.Errorf("%q is of %q, %v; want %q", named, got, err, want)
		}
	}
}

// TestEventsGetTheirTokens, wherever they stand in a history; one that names
// several orders is unread.
func TestEventsGetTheirTokens(t *testing.T) {
	l := &ledgers{orders: newOrders([]string{"o1", "o2"}), known: rowIDs{"17": "o1"}}
	w := properties.Event{Wire: &properties.Wire{Order: "17", EventID: "e1", More: []properties.Carried{{Order: targets.UUID("o2"), EventID: "e2"}}}}
	log := properties.Event{Ledger: &properties.Ledger{Log: []properties.Message{
		l.logged(3, 0, targets.EventReading{EventFields: targets.EventFields{Event: true, Order: "17", ID: "e1", Key: "k", Sequence: "4"}}),
		l.logged(3, 1, targets.EventReading{EventFields: targets.EventFields{Event: true, Order: "o1 o2", ID: "e2"}}),
	}}}
	l.settle(w)
	l.settle(log)
	if w.Wire.Order != "o1" || w.Wire.More[0].Order != "o2" {
		t.Errorf("on the wire: %+v", w.Wire)
	}
	want := []properties.Message{
		{Position: 3, Order: "o1", EventID: "e1", Key: "k", Sequence: "4"},
		{Position: 3, Part: 1, Unread: `the order rule finds "o1 o2", which names the orders o1 and o2`},
	}
	if !reflect.DeepEqual(log.Ledger.Log, want) {
		t.Errorf("in the log: %+v", log.Ledger.Log)
	}
	// That a row's own id is another order's token shows only at the end.
	l.known.note("o2", "o1")
	late := properties.Event{Ledger: &properties.Ledger{Log: []properties.Message{{Position: 5, Order: "o2", EventID: "e3"}}}}
	l.settle(late)
	if m := late.Ledger.Log[0]; m.Order != "" || m.EventID != "" || !strings.Contains(m.Unread, "which names the orders o2 and o1") {
		t.Errorf("ambiguous in the end: %+v", m)
	}
}
