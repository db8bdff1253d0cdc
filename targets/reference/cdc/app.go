package cdc

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// App takes orders from standard input and writes each with two events, in one
// transaction: that its customer was seen, and that it was placed.
func App(ctx context.Context) error {
	return serve(ctx, func(ctx context.Context, tx pgx.Tx, req parts.Request) error {
		const insertEvent = `INSERT INTO outbox (event_id, payload) VALUES ($1, $2)`
		seen, err := json.Marshal(map[string]string{"type": "customer-seen", "customer": req.Customer})
		if err != nil {
			return fmt.Errorf("write the event of the customer: %w", err)
		}
		placed := parts.NewEvent(req.Order, req.Customer)
		for _, event := range []parts.Event{{ID: "customer-of-" + placed.ID, Payload: seen}, placed} {
			if _, err := tx.Exec(ctx, insertEvent, event.ID, event.Payload); err != nil {
				return fmt.Errorf("insert an event: %w", err)
			}
		}
		return nil
	})
}

// OrdersApp takes orders from standard input and writes each as a row, which is
// its event as well.
func OrdersApp(ctx context.Context) error {
	return serve(ctx, func(context.Context, pgx.Tx, parts.Request) error { return nil })
}

// serve places orders; tell writes their events.
func serve(ctx context.Context, tell func(context.Context, pgx.Tx, parts.Request) error) error {
	var db parts.Pool
	defer db.Close()
	return parts.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, req parts.Request) error {
		if req.Op != parts.OpPlace && req.Op != parts.OpAbort {
			return fmt.Errorf("unknown op %q", req.Op)
		}
		return db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			tx, err := conn.Begin(ctx)
			if err != nil {
				return fmt.Errorf("begin: %w", err)
			}
			defer func() { _ = tx.Rollback(ctx) }()
			if _, err := tx.Exec(ctx, `INSERT INTO orders (ref, customer) VALUES ($1, $2)`, req.Order, req.Customer); err != nil {
				return fmt.Errorf("insert the order: %w", err)
			}
			if err := tell(ctx, tx, req); err != nil {
				return err
			}
			if req.Op == parts.OpAbort {
				return tx.Rollback(ctx) // the business changed its mind
			}
			return tx.Commit(ctx)
		})
	})
}
