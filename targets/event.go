package targets

import (
	"errors"
	"fmt"
)

// EventFields are what the rules found in one message.
type EventFields struct {
	Order, ID, Key string
	// Event is false when the manifest's when rule says that the message is no
	// event; the rest is empty then.
	Event bool
}

// EventReader reads events by compiled rules. It may be used by several
// goroutines at once.
type EventReader struct {
	order, id rule
	key       *rule
	when      *condition
}

// Compile checks the rules and makes a reader of them.
func (r EventRules) Compile() (*EventReader, error) {
	var reader EventReader
	var wrong []error
	compile := func(name, text string) rule {
		compiled, err := compileRule(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("event.%s: %w", name, err))
		}
		return compiled
	}
	reader.order = compile("order", r.Order)
	reader.id = compile("id", r.ID)
	if r.Key != "" {
		key := compile("key", r.Key)
		reader.key = &key
	}
	if r.When != "" {
		when, err := compileCondition(r.When)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("event.when: %w", err))
		}
		reader.when = &when
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return &reader, nil
}

// Read reads one message of the broker's log: its subject, headers and body.
// The error says what was looked for and what was there; the fields that were
// found are returned with it.
func (r *EventReader) Read(subject string, header map[string][]string, data []byte) (EventFields, error) {
	m := &message{subject: subject, header: header, data: data}
	if r.when != nil {
		is, err := r.when.holds(m)
		if err != nil {
			return EventFields{}, fmt.Errorf("is it an event: %w", err)
		}
		if !is {
			return EventFields{}, nil
		}
	}
	fields := EventFields{Event: true}
	var wrong []error
	find := func(name string, rule rule, into *string) {
		value, err := rule.find(m)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("no %s: %w", name, err))
			return
		}
		*into = value
	}
	find("order", r.order, &fields.Order)
	find("id", r.id, &fields.ID)
	if r.key != nil {
		find("key", *r.key, &fields.Key)
	}
	return fields, errors.Join(wrong...)
}
