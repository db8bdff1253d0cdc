// Package lastidcursor is the polling outbox with one bug: the relay reads what
// comes after the last id that it has published. An id is given when a row is
// inserted, not when it commits: a lower one that commits later is never read.
package lastidcursor

import (
	"context"
	"fmt"
	"time"

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
	last   int64
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
	enough := time.Now().Add(parts.Patience / 2) // the rest is for mark and commit

	if err := r.chores.Do(ctx, conn); err != nil {
		return false, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()

	if r.last == 0 { // a restart goes on where the last life ended
		const reached = `SELECT coalesce(max(id), 0) FROM outbox WHERE published_at IS NOT NULL`
		if err := tx.QueryRow(ctx, reached).Scan(&r.last); err != nil {
			return false, fmt.Errorf("find the last id: %w", err)
		}
	}
	const claim = `SELECT id, event_id, payload FROM outbox
		WHERE id > $1 ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED`
	claimed, err := tx.Query(ctx, claim, r.last)
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
		if failed = r.broker.Publish(ctx, row.EventID, row.Payload); failed != nil {
			break
		}
		done = append(done, row.ID)
		if time.Now().After(enough) {
			break
		}
	}
	if len(done) == 0 {
		return false, failed
	}
	if err := finish(ctx, tx, done); err != nil {
		return false, err
	}
	r.last = done[len(done)-1]
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
