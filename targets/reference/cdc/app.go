package cdc

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// OrdersApp takes orders from standard input and writes each as a row, which is
// its event as well.
func OrdersApp(ctx context.Context) error {
	var db parts.Pool
	defer db.Close()
	return parts.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, req parts.Request) error {
		if req.Op != parts.OpPlace && req.Op != parts.OpAbort {
			return fmt.Errorf("unknown op %q", req.Op)
		}
		return db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error { return place(ctx, conn, req) })
	})
}

// place writes the order, which the business may still roll back.
func place(ctx context.Context, conn *pgx.Conn, req parts.Request) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, `INSERT INTO orders (ref, customer) VALUES ($1, $2)`, req.Order, req.Customer); err != nil {
		return fmt.Errorf("insert the order: %w", err)
	}
	if req.Op == parts.OpAbort {
		return tx.Rollback(ctx)
	}
	return tx.Commit(ctx)
}
