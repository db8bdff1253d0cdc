package cdc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// slotPlugin and publication name what the server decodes with, and what.
const (
	slotPlugin  = "pgoutput"
	publication = "events"
)

// slot returns the name of a slot from which nothing is missing. A slot begins
// where it is made, so that the rows from before it are read from the table. Until
// they are published the slot does not count: a relay that died between begins
// with another one.
func (r *relay) slot(ctx context.Context, conn *pgx.Conn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*parts.Patience)
	defer cancel()
	var name string
	var there, counts bool
	// Slots belong to the whole server, of which this database is a part.
	err := conn.QueryRow(ctx, `WITH relay AS (SELECT ('relay_' || current_database())::name AS slot)
		SELECT slot, EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = slot), EXISTS (SELECT FROM relay_slots WHERE slot_name = slot)
		FROM relay`).Scan(&name, &there, &counts)
	switch {
	case err != nil:
		return "", fmt.Errorf("look for the slot: %w", err)
	case there && counts:
		return name, nil
	case counts:
		// Whoever dropped it has dropped events. Beginning anew in silence would
		// lose them in silence.
		return "", fmt.Errorf("the slot %s is gone: delete its row of relay_slots to publish the whole table again", name)
	case there:
		if _, err := conn.Exec(ctx, `SELECT pg_drop_replication_slot($1)`, name); err != nil {
			return "", fmt.Errorf("drop the slot of an earlier try: %w", err)
		}
	}
	if _, err := conn.Exec(ctx, `SELECT pg_create_logical_replication_slot($1, $2)`, name, slotPlugin); err != nil {
		return "", fmt.Errorf("make the slot: %w", err)
	}
	if err := r.publishTable(ctx, conn); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, `INSERT INTO relay_slots (slot_name) VALUES ($1)`, name); err != nil {
		return "", fmt.Errorf("note the slot: %w", err)
	}
	return name, nil
}

// publishTable publishes every row there is. Those that were committed since the
// slot was made come from the slot as well, under the same ids.
func (r *relay) publishTable(ctx context.Context, conn *pgx.Conn) error {
	var columns []string
	for _, c := range r.source.columns {
		columns = append(columns, c+"::text")
	}
	found, err := conn.Query(ctx, `SELECT `+strings.Join(columns, ", ")+` FROM `+r.source.table+` ORDER BY id`)
	if err != nil {
		return fmt.Errorf("read the table: %w", err)
	}
	rows, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (map[string]string, error) {
		values := make([]string, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err := row.Scan(into...)
		named := map[string]string{}
		for i, c := range r.source.columns {
			named[c] = values[i]
		}
		return named, err
	})
	if err != nil {
		return fmt.Errorf("read the table: %w", err)
	}
	var failed error
	for _, row := range rows {
		e := r.source.event(row)
		failed = errors.Join(failed, r.broker.Publish(ctx, e.ID, e.Payload))
	}
	return failed
}
