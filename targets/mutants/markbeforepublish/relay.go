// Package markbeforepublish is the polling outbox with one bug: the relay marks
// its rows and commits before it publishes them. A crash in between, or a publish
// that fails, loses events.
package markbeforepublish

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// Relay publishes what is in the outbox until ctx ends. It survives the loss
// of either server and never exits for it.
func Relay(ctx context.Context) error {
	r := &relay{}
	defer r.broker.Close()
	if _, err := r.broker.Conn(); err != nil {
		return err
	}
	return parts.Loop(ctx, r.poll)
}

type relay struct {
	broker parts.Broker
	chores parts.Housekeeping
}

type row struct {
	ID      int64
	EventID string
	Payload []byte
}

// poll publishes one batch and tells whether there was one. The rows stay
// locked until they are marked, so that no other relay publishes them meanwhile.
func (r *relay) poll(ctx context.Context, conn *pgx.Conn) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, parts.Patience)
	defer cancel()

	if err := r.chores.Do(ctx, conn); err != nil {
		return false, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()

	const claim = `SELECT id, event_id, payload FROM outbox
		WHERE published_at IS NULL ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED`
	claimed, err := tx.Query(ctx, claim)
	if err != nil {
		return false, fmt.Errorf("claim: %w", err)
	}
	batch, err := pgx.CollectRows(claimed, pgx.RowToStructByPos[row])
	if err != nil {
		return false, fmt.Errorf("claim: %w", err)
	}

	var done []int64
	var failed error
	for _, row := range batch {
		done = append(done, row.ID)
	}
	if len(done) == 0 {
		return false, failed
	}
	if err := finish(ctx, tx, done); err != nil {
		return false, err
	}
	for _, row := range batch {
		failed = errors.Join(failed, r.broker.Publish(ctx, row.EventID, row.Payload))
	}
	return true, failed
}

// finish marks rows as published, which nobody sees before the commit.
func finish(ctx context.Context, tx pgx.Tx, done []int64) error {
	const mark = `UPDATE outbox SET published_at = now() WHERE id = ANY($1)`
	if _, err := tx.Exec(ctx, mark, done); err != nil {
		return fmt.Errorf("mark: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
