package harness

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// leaseSchema is what lease needs beyond polling's schema.
const leaseSchema = `ALTER TABLE outbox ADD leased_until timestamptz`

// lease claims rows for two seconds in a transaction of their own, publishes, and
// marks. What a dead relay has claimed waits until its lease has run out.
func lease(ctx context.Context) error {
	var broker parts.Broker
	defer broker.Close()
	return parts.Loop(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		rows, err := conn.Query(ctx, `UPDATE outbox SET leased_until = clock_timestamp() + interval '2 seconds' WHERE id IN (
			SELECT id FROM outbox WHERE published_at IS NULL AND (leased_until IS NULL OR leased_until < clock_timestamp())
			ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED) RETURNING id, event_id, payload`)
		if err != nil {
			return false, err
		}
		return publishAndMark(ctx, conn, &broker, rows)
	})
}

type outboxRow struct {
	ID      int64
	EventID string
	Payload []byte
}

func publishAndMark(ctx context.Context, conn *pgx.Conn, broker *parts.Broker, rows pgx.Rows) (bool, error) {
	batch, err := pgx.CollectRows(rows, pgx.RowToStructByPos[outboxRow])
	if err != nil {
		return false, err
	}
	for _, row := range batch {
		if err := broker.Publish(ctx, row.EventID, row.Payload); err != nil {
			return false, err
		}
		if _, err := conn.Exec(ctx, `UPDATE outbox SET published_at = now() WHERE id = $1`, row.ID); err != nil {
			return false, err
		}
	}
	return len(batch) > 0, nil
}

// skipAfterBrokenPoll believes, when a poll fails after it has published, that
// the next rows went out with it.
func skipAfterBrokenPoll(ctx context.Context) error {
	var broker parts.Broker
	defer broker.Close()
	var after, last int64
	return parts.Loop(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		if last == 0 {
			if err := conn.QueryRow(ctx, `SELECT coalesce(max(id), 0) FROM outbox WHERE published_at IS NOT NULL`).Scan(&last); err != nil {
				return false, err
			}
		}
		rows, err := conn.Query(ctx, `SELECT id, event_id, payload FROM outbox WHERE published_at IS NULL AND id > $1 ORDER BY id`, after)
		if err == nil {
			var batch []outboxRow
			if batch, err = pgx.CollectRows(rows, pgx.RowToStructByPos[outboxRow]); err == nil {
				return publishBatch(ctx, conn, &broker, batch, &last)
			}
		}
		if last > 0 {
			after = last + 2 // an aborted order may have taken the next id
		}
		return false, err
	})
}

func publishBatch(ctx context.Context, conn *pgx.Conn, broker *parts.Broker, batch []outboxRow, last *int64) (bool, error) {
	for _, row := range batch {
		if err := broker.Publish(ctx, row.EventID, row.Payload); err != nil {
			return false, err
		}
		if _, err := conn.Exec(ctx, `UPDATE outbox SET published_at = now() WHERE id = $1`, row.ID); err != nil {
			return false, err
		}
		*last = max(*last, row.ID)
	}
	return len(batch) > 0, nil
}

// triesSchema is what giveUpTried needs beyond polling's schema.
const triesSchema = `ALTER TABLE outbox ADD tries int NOT NULL DEFAULT 0; CREATE TABLE attempts (event_id text)`

// giveUpTried claims nothing. It counts its try of a row, and takes a row that has
// been tried before for a poisoned one: two relays that count before either looks
// both give it up.
func giveUpTried(ctx context.Context) error {
	var broker parts.Broker
	defer broker.Close()
	if _, err := broker.Conn(); err != nil {
		return err
	}
	return parts.Loop(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		// They seldom meet by themselves.
		time.Sleep(time.Duration(20+rand.IntN(200)) * time.Millisecond)
		rows, err := conn.Query(ctx, `SELECT id, event_id, payload FROM outbox WHERE published_at IS NULL ORDER BY id`)
		if err != nil {
			return false, err
		}
		batch, err := pgx.CollectRows(rows, pgx.RowToStructByPos[outboxRow])
		if err != nil {
			return false, err
		}
		for _, row := range batch {
			if _, err := conn.Exec(ctx, `UPDATE outbox SET tries = tries + 1 WHERE id = $1`, row.ID); err != nil {
				return false, err
			}
			// A label of its own, which the request alone tells.
			if _, err := conn.Exec(ctx, `INSERT INTO attempts VALUES ($1)`, row.EventID); err != nil {
				return false, err
			}
			var tries []int
			marked, err := conn.Query(ctx, `UPDATE outbox SET published_at = now() WHERE id = $1 AND published_at IS NULL RETURNING tries`, row.ID)
			if err != nil {
				return false, err
			}
			if tries, err = pgx.CollectRows(marked, pgx.RowTo[int]); err != nil {
				return false, err
			}
			if len(tries) == 1 && tries[0] == 1 {
				if err := broker.Publish(ctx, row.EventID, row.Payload); err != nil {
					return false, err
				}
			}
		}
		return len(batch) > 0, nil
	})
}
