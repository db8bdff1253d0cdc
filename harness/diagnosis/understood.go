package diagnosis

import (
	"fmt"
	"strings"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// understood: an event names the committed order and has an id.
func (x *sight) understood() Step {
	if step, failed := x.failed(Understood); failed {
		return step
	}
	if len(x.log) == 0 {
		return x.wrong(fmt.Sprintf("the when rule, %s, leaves out all %s of the log", x.m.Event.When, counted(x.other, "message")),
			"correct event.when: a message is an event where it holds", x.storedShown()...)
	}
	unread := ""
	for _, m := range x.log {
		switch {
		case m.Unread != "":
			unread = m.Unread
		case m.Order == x.order || x.names(m.Order):
			if x.m.Event.ID != "" && m.EventID != "" {
				return fine(fmt.Sprintf("%s by %s, its id %s by %s", x.order, x.m.Event.Order, bounded(m.EventID), x.m.Event.ID))
			}
			unread = "its id is empty"
		}
	}
	evidence := x.storedShown()
	if unread != "" {
		return x.wrong("an event cannot be read: "+unread, x.mendRules(unread), evidence...)
	}
	return x.wrong(fmt.Sprintf("an event names the order %q by %s, and committed has %s", bounded(x.log[0].Order), x.m.Event.Order, x.committedOrders()),
		x.mendOrderRule(), evidence...)
}

// names reports whether a value is the order's row, by its own id.
func (x *sight) names(value string) bool {
	for _, row := range x.rows {
		if row.Order == x.order && row.ID != "" && row.ID == value {
			return true
		}
	}
	return false
}

func (x *sight) committedOrders() string {
	var texts []string
	for _, row := range x.rows[:min(len(x.rows), 3)] {
		text := row.Order
		if row.ID != "" {
			text += fmt.Sprintf(" (its row's own id is %s)", bounded(row.ID))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// mendRules says how to correct the rules that found nothing.
func (x *sight) mendRules(unread string) string {
	var mends []string
	for _, m := range x.facts.Stored {
		reader, err := x.m.Event.Compile()
		if err != nil {
			break
		}
		for _, e := range reader.Events(targets.Message{Topic: m.Subject, Key: m.Subject, Header: m.Header, Body: m.Body}) {
			if e.Err == nil {
				continue
			}
			if e.Order == "" {
				mends = once(mends, x.mendOrderRule())
			}
			if e.ID == "" {
				mends = once(mends, x.mendIDRule(m))
			}
		}
	}
	if len(mends) == 0 {
		return "correct the rules under event; " + "what was looked for and what was there is above"
	}
	return strings.Join(mends, "; ")
}

// mendOrderRule proposes where the order is.
func (x *sight) mendOrderRule() string {
	for _, m := range x.facts.Stored {
		if places := x.orderPlaces(m); len(places) > 0 {
			return fmt.Sprintf("the order is at %s: write event: {order: '%s'}", strings.Join(places, " and at "), places[0])
		}
	}
	return "event.order has to find the order's token, its UUID or its row's own id (the second column of committed); none of them is in the message"
}

// mendIDRule proposes where the event's id is.
func (x *sight) mendIDRule(m Message) string {
	if places := idPlaces(m, x.m.Event); len(places) > 0 {
		return fmt.Sprintf("an id may be at %s: write event: {id: '%s'} if that is the same in every repeat", strings.Join(places, " or at "), places[0])
	}
	return "event.id has to find what is the same in every repeat of an event and different from every other event's"
}

// storedShown is the beginning of the first message of the log.
func (x *sight) storedShown() []string {
	if len(x.facts.Stored) == 0 {
		return nil
	}
	m := x.facts.Stored[0]
	lines := []string{"its subject: " + bounded(m.Subject)}
	if len(m.Header) > 0 {
		lines = append(lines, "its headers: "+bounded(headerText(m.Header)))
	} else {
		lines = append(lines, "it has no headers")
	}
	if len(m.Body) == 0 {
		return append(lines, "its body is empty")
	}
	return append(lines, "its body: "+bounded(string(m.Body)))
}

// effectOf returns how often a consumer applied one of the events of the log.
func (x *sight) effectOf(consumer string) (count int) {
	for _, e := range x.effects {
		if e.Consumer == consumer && x.logged(e.EventID) {
			count += e.Count
		}
	}
	return count
}

func (x *sight) logged(id string) bool {
	return id != "" && containsID(x.log, id)
}

func containsID(log []properties.Message, id string) bool {
	for _, m := range log {
		if m.EventID == id {
			return true
		}
	}
	return false
}
