package targets

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Message is one message of a broker's log.
type Message struct {
	// Topic is where it was published: the subject, the topic, the routing key.
	Topic string
	// Key is the message's key; the subject where the broker has no keys.
	Key    string
	Header map[string][]string
	Body   []byte
}

// EventFields are what the rules found of one event.
type EventFields struct {
	Order, ID, Key, Sequence string
	// Event is false when the manifest's when rule says that the message is no
	// event; the rest is empty then.
	Event bool
}

// EventReading is one event of a message as it was read. With an Err the fields
// are those that were found; Err says what was looked for and what was there.
type EventReading struct {
	EventFields
	Err error
}

// EventReader reads events by compiled rules. It may be used by several
// goroutines at once.
type EventReader struct {
	each          *rule
	order, id     rule
	key, sequence *rule
	when          conditions
}

// Compile checks the rules and makes a reader of them.
func (r EventRules) Compile() (*EventReader, error) {
	var reader EventReader
	var wrong []error
	compile := func(name, text string, compiler func(string) (rule, error)) *rule {
		compiled, err := compiler(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("event.%s: %w", name, err))
		}
		return &compiled
	}
	if r.Each != "" {
		reader.each = compile("each", r.Each, compileEach)
	}
	reader.order = *compile("order", r.Order, compileRule)
	reader.id = *compile("id", r.ID, compileRule)
	if r.Key != "" {
		reader.key = compile("key", r.Key, compileRule)
	}
	if r.Sequence != "" {
		reader.sequence = compile("sequence", r.Sequence, compileRule)
	}
	if r.When != "" {
		var err error
		if reader.when, err = compileConditions(r.When); err != nil {
			wrong = append(wrong, fmt.Errorf("event.when: %w", err))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return &reader, nil
}

// compileEach reads a rule that finds an array.
func compileEach(text string) (rule, error) {
	r, err := compileRule(text)
	if err == nil && (r.source != fromPath || r.part != nil) {
		return rule{}, fmt.Errorf("%s finds no array; write body:$.path, or body:$ if the whole body is one", bounded(text))
	}
	return r, err
}

// Read reads a message of a log whose messages are one event each: its subject,
// which is its key too, its headers and its body. The error says what was looked
// for and what was there; the fields that were found are returned with it.
func (r *EventReader) Read(subject string, header map[string][]string, data []byte) (EventFields, error) {
	readings := r.Events(Message{Topic: subject, Key: subject, Header: header, Body: data})
	switch len(readings) {
	case 0:
		return EventFields{}, nil
	case 1:
		return readings[0].EventFields, readings[0].Err
	}
	return EventFields{}, fmt.Errorf("the message holds %d events, where one is wanted", len(readings))
}

// Events reads the events of a message, in their order: one, or with an each
// rule as many as its array has. What the when rule says is no event is left
// out. A message of which it cannot be told what it holds gives one reading,
// with an Err and Event false.
func (r *EventReader) Events(m Message) []EventReading {
	whole := &message{Message: m}
	if r.each == nil {
		return r.event(nil, whole)
	}
	// Only what shares the message's type can be asked for the array.
	is, err := r.when.aboutMessage().hold(whole)
	if err == nil && !is {
		return nil
	}
	var elements []any
	if err == nil {
		elements, err = r.elements(whole)
	}
	if err != nil {
		return []EventReading{{Err: fmt.Errorf("which are its events: %w", err)}}
	}
	var readings []EventReading
	for i, element := range elements {
		before := len(readings)
		part := &message{Message: m, parsed: true, document: element}
		part.Body = textOf(element)
		readings = r.event(readings, part)
		if len(readings) > before && readings[before].Err != nil {
			readings[before].Err = fmt.Errorf("event %d of %d: %w", i+1, len(elements), readings[before].Err)
		}
	}
	return readings
}

func (r *EventReader) elements(m *message) ([]any, error) {
	document, err := m.json()
	if err == nil {
		document, err = r.each.path.walk(document)
	}
	if err != nil {
		return nil, fmt.Errorf("looked for %s, %w", r.each.text, err)
	}
	array, ok := unfold(document).([]any)
	if !ok {
		return nil, fmt.Errorf("looked for %s, %s is %s, and an array is wanted", r.each.text, r.each.path.here(), kindOf(document))
	}
	return array, nil
}

// textOf is an element as the whole body of an event: a text without its quotes,
// or JSON with its keys in order.
func textOf(element any) []byte {
	if text, ok := element.(string); ok {
		return []byte(text)
	}
	text, err := json.Marshal(element)
	if err != nil {
		return nil // it was read from JSON, so that this is a body that is not there
	}
	return text
}

// event appends the reading of one event, unless it is none.
func (r *EventReader) event(readings []EventReading, m *message) []EventReading {
	is, err := r.when.hold(m)
	if err != nil {
		return append(readings, EventReading{Err: fmt.Errorf("is it an event: %w", err)})
	}
	if !is {
		return readings
	}
	e := EventReading{EventFields: EventFields{Event: true}}
	var wrong []error
	find := func(name string, rule *rule, into *string) {
		if rule == nil {
			return
		}
		value, err := rule.find(m)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("no %s: %w", name, err))
			return
		}
		*into = value
	}
	find("order", &r.order, &e.Order)
	find("id", &r.id, &e.ID)
	find("key", r.key, &e.Key)
	find("sequence", r.sequence, &e.Sequence)
	e.Err = errors.Join(wrong...)
	return append(readings, e)
}
