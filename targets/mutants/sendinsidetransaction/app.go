// Package sendinsidetransaction is the polling outbox with one bug: the app
// publishes the event itself, inside the transaction and just before the commit.
// A commit that does not happen leaves the event of an order that never was.
package sendinsidetransaction

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
	if err := a.broker.Publish(ctx, event.ID, event.Payload); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
