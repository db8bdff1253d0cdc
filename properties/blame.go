package properties

import (
	"fmt"
	"strings"
)

// lostByLog says that the log no longer holds what it once held; empty when it
// does. A loss that no reading caught may have been of any event, so that nothing
// can be passed on such a log.
func (ix *index) lostByLog() string {
	switch who := ix.deleted(); {
	case !ix.logLost:
		return ""
	case who != "":
		return "the log no longer holds all that it once held, and " + who + " may have asked for that"
	}
	return "the log no longer holds all that it once held: the broker's loss"
}

// blame says whose fault it is that events are missing, when it is not the
// target's; empty when nothing is, or when it is.
func (ix *index) blame() string {
	if ix.deleted() != "" {
		return ""
	}
	var lost []Message
	for _, order := range ix.placed() {
		if _, ok := ix.committed[order]; ok && len(ix.byOrder[order]) == 0 && ix.notFound(order) == "" && ix.brokerLost(order) {
			lost = append(lost, Message{Order: order})
		}
	}
	switch {
	case len(lost) > 0:
		return fmt.Sprintf("the broker: it acknowledged %s and does not hold it", ix.eventsOf(lost))
	case len(ix.gone) > 0:
		return fmt.Sprintf("the broker: it held %s and no longer does", ix.eventsOf(ix.gone))
	case ix.logLost:
		return "the broker: its log lacks messages that it had taken"
	}
	return ""
}

// eventsOf names the orders of messages, each once.
func (ix *index) eventsOf(messages []Message) string {
	seen := map[string]bool{}
	var orders []string
	for _, m := range messages {
		if order := ix.orderOf(m.Order); order != "" && !seen[order] {
			seen[order] = true
			orders = append(orders, order)
		}
	}
	if len(orders) == 0 {
		return "messages"
	}
	return "the event of " + strings.Join(orders, ", ")
}

// deleted returns the exchange by which the target itself had the broker delete
// messages, or change how long it keeps them; empty when there is none. The
// labels are those of JetStream's API.
func (ix *index) deleted() string {
	for _, x := range ix.exchanges {
		switch x.label {
		case "api stream.msg.delete", "api stream.purge", "api stream.delete", "api stream.update":
			if x.request != nil || x.oneWay != nil {
				return name(x)
			}
		}
	}
	return ""
}
