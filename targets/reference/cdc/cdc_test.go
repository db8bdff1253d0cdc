package cdc

import (
	"reflect"
	"testing"

	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/cdc/capture"
)

func TestTargets(t *testing.T) {
	for _, target := range []targets.Target{Target(), OrdersTarget()} {
		if err := target.Validate(); err != nil {
			t.Error(err)
		}
		if len(target.SchemaSQL) != 2 || target.SchemaSQL[0] == "" || target.SchemaSQL[1] == "" || len(target.Go) != 3 {
			t.Errorf("%s: the schema is %q, %d roles", target.Name, target.SchemaSQL, len(target.Go))
		}
	}
}

// TestEvents: the manifest reads what a row becomes, and the same row becomes the
// same event.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		source capture.Source
		target targets.Target
		row    map[string]string
		want   targets.EventFields
	}{
		{capture.Outbox(), Target(), map[string]string{"id": "7", "event_id": "e1", "payload": `{"order":"o1"}`}, targets.EventFields{Order: "o1", ID: "e1", Event: true}},
		{capture.Orders(), OrdersTarget(), map[string]string{"id": "7", "ref": "o1", "customer": "c1"}, targets.EventFields{Order: "o1", ID: "order-7", Event: true}},
	} {
		e := c.source.Event(c.row)
		if again := c.source.Event(c.row); !reflect.DeepEqual(e, again) {
			t.Errorf("one row becomes %+v and %+v", e, again)
		}
		reader, err := c.target.Event.Compile()
		if err != nil {
			t.Fatal(err)
		}
		got, err := reader.Read("t1.orders", map[string][]string{"Event-Id": {e.ID}}, e.Payload)
		if got != c.want || err != nil {
			t.Errorf("the manifest of %s reads its event as %+v, %v", c.target.Name, got, err)
		}
		for _, column := range c.source.Columns {
			if c.row[column] == "" {
				t.Errorf("%s: the column %s is read and not there", c.target.Name, column)
			}
		}
	}
}
