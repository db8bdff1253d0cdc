package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/targets"
)

// What the harness's own consumer is called, and where it keeps what it
// applied: in a schema of its own in the trial's database.
const (
	ConsumerName    = "outboxtest"
	ConsumerApplied = `SELECT event_id, consumer, count(*) FROM outboxtest.effects GROUP BY 1, 2`
	ConsumerSchema  = `CREATE SCHEMA outboxtest;
CREATE TABLE outboxtest.deduplication (event_id text, consumer text, PRIMARY KEY (event_id, consumer));
CREATE TABLE outboxtest.effects (event_id text NOT NULL, consumer text NOT NULL, order_ref text NOT NULL);`
)

// ConsumerSettings tell the harness's own consumer how to read an event.
type ConsumerSettings struct {
	Event targets.EventRules `json:"event"`
}

// RunConsumer is the harness's own deduplicating consumer, for a target that
// has none: it records (event id, consumer) in the transaction of the effect.
func RunConsumer(ctx context.Context) error {
	s, err := settings[ConsumerSettings]()
	if err != nil {
		return err
	}
	reader, err := s.Event.Compile()
	if err != nil {
		return fmt.Errorf("event: %w", err)
	}
	nc, err := nats.Connect(os.Getenv("OUTBOXTEST_BROKER_URL"), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		return fmt.Errorf("connect to the broker: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	c := &consumer{url: os.Getenv("OUTBOXTEST_POSTGRES_URL"), reader: reader}
	for {
		if err := c.consume(ctx, js, os.Getenv("OUTBOXTEST_STREAM")); err != nil {
			slog.Warn("consuming failed, starting again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(20 * time.Millisecond):
		}
	}
}

type consumer struct {
	url    string
	reader *targets.EventReader
	conn   *pgx.Conn
}

func (c *consumer) consume(ctx context.Context, js jetstream.JetStream, stream string) error {
	durable, err := js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Durable: ConsumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 300 * time.Millisecond,
	})
	if err != nil {
		return fmt.Errorf("create the consumer: %w", err)
	}
	messages, err := durable.Messages()
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("next message: %w", err)
		}
		if err := c.apply(ctx, m); err != nil {
			slog.Warn("not applied", "err", err)
			if c.conn != nil {
				_ = c.conn.Close(ctx)
				c.conn = nil
			}
			if err := m.NakWithDelay(20 * time.Millisecond); err != nil {
				return fmt.Errorf("nak: %w", err)
			}
			continue
		}
		if err := m.Ack(); err != nil {
			return fmt.Errorf("ack: %w", err)
		}
	}
}

func (c *consumer) apply(ctx context.Context, m jetstream.Msg) error {
	// What cannot be read cannot be applied; the judgement says so.
	events := slices.DeleteFunc(
		c.reader.Events(targets.Message{Topic: m.Subject(), Key: m.Subject(), Header: m.Headers(), Body: m.Data()}),
		func(e targets.EventReading) bool { return e.Err != nil || e.ID == "" })
	if len(events) == 0 {
		return nil
	}
	if c.conn == nil {
		conn, err := pgx.Connect(ctx, c.url)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		c.conn = conn
	}
	tx, err := c.conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for _, event := range events {
		tag, err := tx.Exec(ctx, `INSERT INTO outboxtest.deduplication VALUES ($1, $2) ON CONFLICT DO NOTHING`, event.ID, ConsumerName)
		if err == nil && tag.RowsAffected() == 1 {
			_, err = tx.Exec(ctx, `INSERT INTO outboxtest.effects VALUES ($1, $2, $3)`, event.ID, ConsumerName, event.Order)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("apply: %w", err), tx.Rollback(ctx))
		}
	}
	return tx.Commit(ctx)
}
