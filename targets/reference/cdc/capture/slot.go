package capture

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// slotPlugin and publication name what the server decodes with, and what.
const (
	slotPlugin  = "pgoutput"
	publication = "events"
)

// Slot is the replication slot of a database, as it was found. Slots belong to the
// whole server, of which the database is a part.
type Slot struct {
	Name string
	// There: the server has it. Counts: the rows from before it are published.
	There, Counts bool
}

// FindSlot looks for the slot of the database.
func FindSlot(ctx context.Context, conn *pgx.Conn) (s Slot, err error) {
	ctx, cancel := context.WithTimeout(ctx, parts.Patience)
	defer cancel()
	err = conn.QueryRow(ctx, `WITH relay AS (SELECT ('relay_' || current_database())::name AS slot)
		SELECT slot, EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = slot), EXISTS (SELECT FROM relay_slots WHERE slot_name = slot)
		FROM relay`).Scan(&s.Name, &s.There, &s.Counts)
	if err != nil {
		return s, fmt.Errorf("look for the slot: %w", err)
	}
	return s, nil
}

// Make makes the slot anew: it begins here, and knows nothing of earlier changes.
func (s Slot) Make(ctx context.Context, conn *pgx.Conn) error {
	// Whoever has a transaction open is waited for.
	ctx, cancel := context.WithTimeout(ctx, 10*parts.Patience)
	defer cancel()
	if s.There {
		if _, err := conn.Exec(ctx, `SELECT pg_drop_replication_slot($1)`, s.Name); err != nil {
			return fmt.Errorf("drop the slot: %w", err)
		}
	}
	if _, err := conn.Exec(ctx, `SELECT pg_create_logical_replication_slot($1, $2)`, s.Name, slotPlugin); err != nil {
		return fmt.Errorf("make the slot: %w", err)
	}
	return nil
}

// Count notes that the rows from before the slot are published.
func (s Slot) Count(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, parts.Patience)
	defer cancel()
	if _, err := conn.Exec(ctx, `INSERT INTO relay_slots (slot_name) VALUES ($1)`, s.Name); err != nil {
		return fmt.Errorf("note the slot: %w", err)
	}
	return nil
}

// Lag is how far behind the slot is, and how much WAL it makes the server keep,
// both in bytes.
func (s Slot) Lag(ctx context.Context, conn *pgx.Conn) (lag, retained int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, parts.Patience)
	defer cancel()
	err = conn.QueryRow(ctx, `SELECT (pg_current_wal_lsn() - confirmed_flush_lsn)::bigint, (pg_current_wal_lsn() - restart_lsn)::bigint
		FROM pg_replication_slots WHERE slot_name = $1`, s.Name).Scan(&lag, &retained)
	if err != nil {
		return 0, 0, fmt.Errorf("read the slot's lag: %w", err)
	}
	return lag, retained, nil
}
