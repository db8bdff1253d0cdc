package polling

import (
	"testing"

	"github.com/outboxtest/outboxtest/targets"
)

func TestTarget(t *testing.T) {
	target := Target()
	if err := target.Validate(); err != nil {
		t.Error(err)
	}
	if len(target.SchemaSQL) != 1 || target.SchemaSQL[0] == "" {
		t.Errorf("the schema is %q", target.SchemaSQL)
	}
	reader, err := target.Event.Compile()
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.Read("t1.orders", map[string][]string{"Event-Id": {"e1"}}, []byte(`{"order":"o1","customer":"c1"}`))
	if want := (targets.EventFields{Order: "o1", ID: "e1", Event: true}); got != want || err != nil {
		t.Errorf("the manifest reads its event as %+v, %v", got, err)
	}
}
