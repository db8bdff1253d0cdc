package parts

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
)

// EventIDHeader carries the event's id. It is deliberately not Nats-Msg-Id: the
// broker's duplicate window would hide repeats that a consumer must be able to
// take.
const EventIDHeader = "Event-Id"

// Event is what the world is told of an order.
type Event struct {
	ID      string
	Payload []byte // JSON
}

type payload struct {
	Order    string `json:"order"`
	Customer string `json:"customer"`
}

// NewEvent makes the event of an order, with an id of its own that stays the
// same however often it is published.
func NewEvent(order, customer string) Event {
	text, err := json.Marshal(payload{Order: order, Customer: customer})
	if err != nil {
		panic(err) // two strings always encode
	}
	return Event{ID: newID(), Payload: text}
}

// newID is a random UUID (RFC 9562, version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says crypto/rand
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// OrderOf reads the order from an event's payload.
func OrderOf(data []byte) (string, error) {
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return "", fmt.Errorf("read the payload: %w", err)
	}
	if p.Order == "" {
		return "", fmt.Errorf("read the payload: it names no order")
	}
	return p.Order, nil
}
