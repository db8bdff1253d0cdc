package trial

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// orders tells which order of the trial a value names. It remembers what it was
// asked, because the ledgers are read again and again.
type orders struct {
	finder *targets.OrderFinder

	mu    sync.Mutex
	named map[string]naming
}

type naming struct {
	token string
	err   error
}

func newOrders(tokens []string) *orders {
	return &orders{finder: targets.FindOrders(tokens), named: map[string]naming{}}
}

// find returns the token of the order that a value names, empty where it names
// none; the error is a [*targets.AmbiguousError].
func (o *orders) find(value string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, known := o.named[value]
	if !known {
		n.token, n.err = o.finder.Find(value)
		o.named[value] = n
	}
	return n.token, n.err
}

// rowIDs are the committed rows' own ids, with what their rows call their orders.
// An id that several orders share names none.
type rowIDs map[string]string

func (r rowIDs) note(id, order string) {
	if id == "" {
		return
	}
	if other, known := r[id]; known && other != order {
		order = ""
	}
	r[id] = order
}

// of returns the token of the order that an event names, by its token, by its
// UUID, or by its row's own id; what names no order is returned as it is. The
// error is a [*targets.AmbiguousError].
func (o *orders) of(named string, ids rowIDs) (string, error) {
	token, err := o.find(named)
	if err != nil {
		return "", err
	}
	order := ids[named]
	switch {
	case token == "" && order == "":
		return named, nil
	case token == "":
		return order, nil
	case order == "" || order == token:
		return token, nil
	}
	// Only an order of the trial's is another order: the first column of
	// committed may show anything.
	if other, err := o.find(order); err == nil && other == order {
		return "", &targets.AmbiguousError{Value: named, Tokens: []string{token, other}}
	}
	return token, nil
}

// logged is an event of the log. One of which not everything could be read that
// the manifest has a rule for is unread.
func (l *ledgers) logged(position uint64, part int, e targets.EventReading) properties.Message {
	m := properties.Message{Position: position, Part: part}
	if e.Err == nil {
		_, err := l.orders.find(e.Order)
		e.Err = unclear(err)
	}
	if e.Err != nil {
		m.Unread = e.Err.Error()
		return m
	}
	m.Order, m.EventID, m.Key, m.Sequence = e.Order, e.ID, e.Key, e.Sequence
	return m
}

// token is the order that an event names, and what names several as it is.
func (l *ledgers) token(named string) string {
	token, err := l.orders.of(named, l.known)
	if err != nil {
		return named
	}
	return token
}

// settle gives what an event of the history calls its orders their tokens, once
// all rows are known.
func (l *ledgers) settle(e properties.Event) {
	if w := e.Wire; w != nil {
		w.Order = l.token(w.Order)
		for i := range w.More {
			w.More[i].Order = l.token(w.More[i].Order)
		}
	}
	if e.Ledger == nil {
		return
	}
	for i := range e.Ledger.Log {
		m := &e.Ledger.Log[i]
		token, err := l.orders.of(m.Order, l.known)
		if err != nil {
			*m = properties.Message{Position: m.Position, Part: m.Part, Unread: unclear(err).Error()}
			continue
		}
		m.Order = token
	}
}

// unclear is the error of an event that names several orders, by the rule that
// did so; nil for none.
func unclear(err error) error {
	if ambiguous, ok := errors.AsType[*targets.AmbiguousError](err); ok {
		return fmt.Errorf("the order rule finds %q, which names the orders %s", ambiguous.Value, strings.Join(ambiguous.Tokens, " and "))
	}
	return err
}
