package cdc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/cdc/capture"
	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

const (
	retryPause  = 20 * time.Millisecond
	reportEvery = 10 * time.Second
)

// Relay publishes what is inserted into the outbox until ctx ends. It survives
// the loss of either server and never exits for it.
func Relay(ctx context.Context) error { return run(ctx, capture.Outbox()) }

// OrdersRelay does the same with the orders.
func OrdersRelay(ctx context.Context) error { return run(ctx, capture.Orders()) }

func run(ctx context.Context, s capture.Source) error {
	r := &relay{source: s}
	defer r.broker.Close()
	if _, err := r.broker.Conn(); err != nil {
		return err
	}
	// A round ends with its connection: there is always work.
	return parts.Loop(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) { return true, r.follow(ctx, conn) })
}

type relay struct {
	source capture.Source
	broker parts.Broker
}

// follow makes sure that there is a slot, and streams from it until something
// breaks. The connection serves what is no replication.
func (r *relay) follow(ctx context.Context, conn *pgx.Conn) error {
	slot, err := r.slot(ctx, conn)
	if err != nil {
		return err
	}
	s, err := capture.Open(ctx, slot.Name)
	if err != nil {
		return err
	}
	defer s.Close()
	slog.Info("streaming", "slot", slot.Name)
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	for {
		select {
		case <-report.C:
			lag, retained, err := slot.Lag(ctx, conn)
			if err != nil {
				return err
			}
			slog.Info("slot", "lag_bytes", lag, "retained_bytes", retained)
		default:
		}
		rows, err := s.Next(ctx, r.source.Table)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := r.publish(ctx, s, r.source.Event(row)); err != nil {
				return err
			}
		}
		// All of the transaction is with the broker: only now may the server
		// forget it.
		if err := s.Confirm(ctx); err != nil {
			return err
		}
	}
}

// publish tries until the broker has acknowledged the event. Meanwhile the server
// hears that its client lives, and of no new position.
func (r *relay) publish(ctx context.Context, s *capture.Stream, e parts.Event) error {
	for {
		err := r.broker.Publish(ctx, e.ID, e.Payload)
		if err == nil {
			return nil
		}
		slog.Warn("not published, trying again", "error", err)
		if err := s.Alive(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// slot returns a slot from which nothing is missing. A slot begins where it is
// made, so that the rows from before it are read from the table. Until they are
// published the slot does not count: a relay that died between begins with another
// one.
func (r *relay) slot(ctx context.Context, conn *pgx.Conn) (capture.Slot, error) {
	slot, err := capture.FindSlot(ctx, conn)
	switch {
	case err != nil:
		return slot, err
	case slot.There && slot.Counts:
		return slot, nil
	case slot.Counts:
		// Whoever dropped it has dropped events. Beginning anew in silence would
		// lose them in silence.
		return slot, fmt.Errorf("the slot %s is gone: delete its row of relay_slots to publish the whole table again", slot.Name)
	}
	if err := slot.Make(ctx, conn); err != nil {
		return slot, err
	}
	if err := r.publishTable(ctx, conn); err != nil {
		return slot, err
	}
	return slot, slot.Count(ctx, conn)
}

// publishTable publishes every row there is. Those that were committed since the
// slot was made come from the slot as well, under the same ids.
func (r *relay) publishTable(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 10*parts.Patience)
	defer cancel()
	rows, err := r.source.Rows(ctx, conn)
	for _, row := range rows {
		e := r.source.Event(row)
		err = errors.Join(err, r.broker.Publish(ctx, e.ID, e.Payload))
	}
	return err
}
