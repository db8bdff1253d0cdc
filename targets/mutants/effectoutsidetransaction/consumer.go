// Package effectoutsidetransaction is the polling outbox with one bug: the effect
// is not in the transaction that records the event. A crash in between leaves an
// event that counts as applied and was not.
package effectoutsidetransaction

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// Consumer applies events under two names, each with its own connections and
// its own durable consumer, until ctx ends.
func Consumer(ctx context.Context) error {
	var running sync.WaitGroup
	for _, name := range []string{"kitchen", "billing"} {
		running.Go(func() {
			c := &consumer{name: name, inbox: parts.Inbox{Name: name}}
			defer c.inbox.Close()
			_ = parts.Loop(ctx, c.next) // it ends with ctx alone
		})
	}
	running.Wait()
	return nil
}

type consumer struct {
	name  string
	inbox parts.Inbox
}

// next waits for one delivery, applies it, and acknowledges it. What is not
// acknowledged comes again.
func (c *consumer) next(ctx context.Context, conn *pgx.Conn) (bool, error) {
	msg, err := c.inbox.Next(ctx)
	if err != nil || msg == nil {
		return true, err
	}
	eventID := msg.Headers().Get(parts.EventIDHeader)
	if eventID == "" {
		slog.Warn("dropped a message without an event id", "consumer", c.name)
		return true, msg.Term()
	}
	order, err := parts.OrderOf(msg.Data())
	if err != nil {
		slog.Warn("dropped an unreadable event", "consumer", c.name, "event", eventID, "error", err)
		return true, msg.Term()
	}
	if err := c.apply(ctx, conn, eventID, order); err != nil {
		_ = msg.Nak() // if it does not arrive, the acknowledgement's time runs out
		return true, fmt.Errorf("apply event %s: %w", eventID, err)
	}
	return true, msg.Ack()
}

// apply records the event and its effect in one transaction: both are there or
// neither, and a repeat finds the record.
func (c *consumer) apply(ctx context.Context, conn *pgx.Conn, eventID, order string) error {
	ctx, cancel := context.WithTimeout(ctx, parts.Patience)
	defer cancel()

	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()

	const remember = `INSERT INTO deduplication (event_id, consumer) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	recorded, err := tx.Exec(ctx, remember, eventID, c.name)
	if err != nil {
		return fmt.Errorf("record the event: %w", err)
	}
	if recorded.RowsAffected() == 0 {
		return tx.Rollback(ctx)
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	const effect = `INSERT INTO effects (event_id, consumer, order_ref) VALUES ($1, $2, $3)`
	if _, err := conn.Exec(ctx, effect, eventID, c.name, order); err != nil {
		return fmt.Errorf("insert the effect: %w", err)
	}
	return nil
}
