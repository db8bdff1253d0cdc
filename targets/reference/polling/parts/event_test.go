package parts

import (
	"regexp"
	"testing"

	"github.com/outboxtest/outboxtest/targets"
)

func TestEvent(t *testing.T) {
	e := NewEvent("o1", `c"1`)
	if string(e.Payload) != `{"order":"o1","customer":"c\"1"}` {
		t.Errorf("the payload is %s", e.Payload)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(e.ID) {
		t.Errorf("the id %s is no version 4 UUID", e.ID)
	}
	if other := NewEvent("o1", "c1"); other.ID == e.ID {
		t.Errorf("two events have the id %s", e.ID)
	}
	order, err := OrderOf(e.Payload)
	if order != "o1" || err != nil {
		t.Errorf("the order is %q, %v", order, err)
	}
	for _, payload := range []string{"", "{}", `{"order":1}`, "null", "o1"} {
		if order, err := OrderOf([]byte(payload)); err == nil {
			t.Errorf("%q names the order %q", payload, order)
		}
	}
}

// TestMessage: the id is in a header of its own, since with Nats-Msg-Id the
// broker would drop the repeats that consumers must be seen to take.
func TestMessage(t *testing.T) {
	t.Setenv(targets.EnvTopic, "t1.orders")
	msg, err := Message("e1", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if msg.Subject != "t1.orders" || msg.Header.Get("Event-Id") != "e1" || len(msg.Header) != 1 || string(msg.Data) != "{}" {
		t.Errorf("got %+v", msg)
	}
	t.Setenv(targets.EnvTopic, "")
	if _, err := Message("e1", nil); err == nil {
		t.Error("there is a message without a topic")
	}
}
