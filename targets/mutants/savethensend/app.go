// Package savethensend is the polling outbox with one bug: the app commits the
// order without an outbox row and then publishes the event itself. A crash in
// between loses the event.
package savethensend

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// App takes orders from standard input and writes each with its event.
func App(ctx context.Context) error {
	a := &app{}
	defer a.db.Close()
	return parts.Serve(ctx, os.Stdin, os.Stdout, a.handle)
}

type app struct {
	db     parts.Pool
	broker parts.Broker
}

func (a *app) handle(ctx context.Context, req parts.Request) error {
	if req.Op != parts.OpPlace && req.Op != parts.OpAbort {
		return fmt.Errorf("unknown op %q", req.Op)
	}
	return a.db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return a.place(ctx, conn, req)
	})
}

// place writes the order and its event in one transaction, which the business
// may still roll back.
func (a *app) place(ctx context.Context, conn *pgx.Conn, req parts.Request) error {
	event := parts.NewEvent(req.Order, req.Customer)

	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()

	const insertOrder = `INSERT INTO orders (ref, customer) VALUES ($1, $2)`
	if _, err := tx.Exec(ctx, insertOrder, req.Order, req.Customer); err != nil {
		return fmt.Errorf("insert the order: %w", err)
	}

	if req.Op == parts.OpAbort {
		return tx.Rollback(ctx)
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return a.broker.Publish(ctx, event.ID, event.Payload)
}
