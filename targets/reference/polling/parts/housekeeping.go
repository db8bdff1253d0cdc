package parts

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	ageEvery     = 10 * time.Second
	cleanupEvery = time.Minute
	// slowAfter is the age from which an unpublished row is worth a warning.
	slowAfter = 5 * time.Second
)

// Housekeeping is what a relay does beside publishing: it tells how old the
// oldest unpublished row is, and deletes rows that were published more than an
// hour ago. The zero value is ready; its first times come a period after the
// first call, so that a short life does neither.
type Housekeeping struct {
	nextAge, nextCleanup time.Time
}

// Do does what is due. It must be called outside of a transaction.
func (h *Housekeeping) Do(ctx context.Context, conn *pgx.Conn) error {
	now := time.Now()
	if h.nextAge.IsZero() {
		h.nextAge, h.nextCleanup = now.Add(ageEvery), now.Add(cleanupEvery)
	}
	if now.After(h.nextAge) {
		h.nextAge = now.Add(ageEvery)
		if err := logAge(ctx, conn); err != nil {
			return err
		}
	}
	if now.After(h.nextCleanup) {
		h.nextCleanup = now.Add(cleanupEvery)
		return cleanup(ctx, conn)
	}
	return nil
}

func logAge(ctx context.Context, conn *pgx.Conn) error {
	const oldest = `SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8
		FROM outbox WHERE published_at IS NULL`
	var seconds float64
	if err := conn.QueryRow(ctx, oldest).Scan(&seconds); err != nil {
		return fmt.Errorf("read the age of the oldest unpublished row: %w", err)
	}
	level := slog.LevelInfo
	if seconds > slowAfter.Seconds() {
		level = slog.LevelWarn
	}
	slog.Log(ctx, level, "oldest unpublished row", "age_seconds", seconds)
	return nil
}

// cleanup is a statement of its own: it must not lengthen the life of a claim.
// A published row is never claimed, so it cannot take one from a relay.
func cleanup(ctx context.Context, conn *pgx.Conn) error {
	const old = `DELETE FROM outbox WHERE published_at < now() - interval '1 hour'`
	if _, err := conn.Exec(ctx, old); err != nil {
		return fmt.Errorf("delete old published rows: %w", err)
	}
	return nil
}
