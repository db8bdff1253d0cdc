package cdc

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// source is the table whose inserts are events.
type source struct {
	// columns is what a select of the table lists for event.
	columns []string
	table   string
	// event makes one of a row's columns, by name. The same row gives the same.
	event func(row map[string]string) parts.Event
}

func outbox() source {
	return source{columns: []string{"event_id", "payload"}, table: "outbox", event: func(row map[string]string) parts.Event {
		return parts.Event{ID: row["event_id"], Payload: []byte(row["payload"])}
	}}
}

func orders() source {
	return source{columns: []string{"id", "ref", "customer"}, table: "orders", event: func(row map[string]string) parts.Event {
		text, err := json.Marshal(map[string]string{"order": row["ref"], "customer": row["customer"]})
		if err != nil {
			panic(err) // strings always encode
		}
		return parts.Event{ID: "order-" + row["id"], Payload: text}
	}}
}

// Relay publishes what is inserted into the outbox until ctx ends. It survives
// the loss of either server and never exits for it.
func Relay(ctx context.Context) error { return run(ctx, outbox()) }

// OrdersRelay does the same with the orders.
func OrdersRelay(ctx context.Context) error { return run(ctx, orders()) }

func run(ctx context.Context, s source) error {
	r := &relay{source: s}
	defer r.broker.Close()
	if _, err := r.broker.Conn(); err != nil {
		return err
	}
	// A round ends with its connection: there is always work.
	return parts.Loop(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) { return true, r.follow(ctx, conn) })
}

type relay struct {
	source source
	broker parts.Broker
}

// follow makes sure that there is a slot, and streams from it until something
// breaks. The connection serves what is no replication.
func (r *relay) follow(ctx context.Context, conn *pgx.Conn) error {
	slot, err := r.slot(ctx, conn)
	if err != nil {
		return err
	}
	s, err := open(ctx, slot)
	if err != nil {
		return err
	}
	defer s.close()
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	for {
		select {
		case <-report.C:
			if err := logLag(ctx, conn, slot); err != nil {
				return err
			}
		default:
		}
		rows, err := s.next(ctx, r.source.table)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := r.publish(ctx, s, r.source.event(row)); err != nil {
				return err
			}
		}
		// All of the transaction is with the broker: only now may the server
		// forget it.
		if err := s.confirm(ctx); err != nil {
			return err
		}
	}
}

// publish tries until the broker has acknowledged the event. Meanwhile the server
// hears that its client lives, and of no new position.
func (r *relay) publish(ctx context.Context, s *stream, e parts.Event) error {
	for {
		err := r.broker.Publish(ctx, e.ID, e.Payload)
		if err == nil {
			return nil
		}
		slog.Warn("not published, trying again", "error", err)
		if err := s.alive(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

const (
	retryPause  = 20 * time.Millisecond
	reportEvery = 10 * time.Second
)

// logLag reports how far behind the slot is, and how much WAL it makes the
// server keep, both in bytes.
func logLag(ctx context.Context, conn *pgx.Conn, slot string) error {
	ctx, cancel := context.WithTimeout(ctx, parts.Patience)
	defer cancel()
	var lag, retained int64
	err := conn.QueryRow(ctx, `SELECT (pg_current_wal_lsn() - confirmed_flush_lsn)::bigint, (pg_current_wal_lsn() - restart_lsn)::bigint
		FROM pg_replication_slots WHERE slot_name = $1`, slot).Scan(&lag, &retained)
	if err != nil {
		return fmt.Errorf("read the slot's lag: %w", err)
	}
	slog.Info("slot", "lag_bytes", lag, "retained_bytes", retained)
	return nil
}
