package harness

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// applyNothing acknowledges every event and applies none.
func applyNothing(ctx context.Context) error {
	return eachConsumer(func(name string) error {
		inbox := parts.Inbox{Name: name}
		defer inbox.Close()
		for {
			if msg, err := inbox.Next(ctx); err == nil && msg != nil {
				_ = msg.Ack()
			}
		}
	})
}

func eachConsumer(run func(name string) error) error {
	var running sync.WaitGroup
	errs := make([]error, 2)
	for i, name := range []string{"kitchen", "billing"} {
		running.Go(func() { errs[i] = run(name) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// skipAfterBrokenPull goes on after a broken connection one event too far.
func skipAfterBrokenPull(ctx context.Context) error {
	return eachConsumer(func(name string) error {
		var broken atomic.Bool
		conn, err := nats.Connect(os.Getenv(targets.EnvBrokerURL), nats.Name(os.Getenv(targets.EnvInstance)), nats.RetryOnFailedConnect(true),
			nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.DisconnectErrHandler(func(*nats.Conn, error) { broken.Store(true) }))
		if err != nil {
			return err
		}
		defer conn.Close()
		js, err := jetstream.New(conn)
		if err != nil {
			return err
		}
		s := &skipper{name: name, js: js, broken: &broken}
		return parts.Loop(ctx, s.next)
	})
}

type skipper struct {
	name   string
	js     jetstream.JetStream
	broken *atomic.Bool
	from   jetstream.Consumer
	last   uint64
}

func (s *skipper) next(ctx context.Context, db *pgx.Conn) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if s.from == nil || s.broken.Swap(false) {
		s.from = nil
		config := jetstream.ConsumerConfig{Durable: s.name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 300 * time.Millisecond}
		if s.last > 0 {
			config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, s.last+2
		}
		stream := os.Getenv(targets.EnvStream)
		if err := s.js.DeleteConsumer(ctx, stream, s.name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			s.broken.Store(true)
			return false, err
		}
		from, err := s.js.CreateConsumer(ctx, stream, config)
		if err != nil {
			s.broken.Store(true)
			return false, err
		}
		s.from = from
	}
	batch, err := s.from.Fetch(1, jetstream.FetchMaxWait(200*time.Millisecond))
	if err != nil {
		return false, err
	}
	for msg := range batch.Messages() {
		meta, err := msg.Metadata()
		if err != nil {
			return false, err
		}
		id := msg.Headers().Get(parts.EventIDHeader)
		order, err := parts.OrderOf(msg.Data())
		if err != nil {
			return false, err
		}
		if _, err := db.Exec(ctx, `WITH fresh AS (INSERT INTO deduplication VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING event_id)
			INSERT INTO effects (event_id, consumer, order_ref) SELECT event_id, $2, $3 FROM fresh`, id, s.name, order); err != nil {
			return false, err
		}
		s.last = max(s.last, meta.Sequence.Stream)
		if err := msg.Ack(); err != nil {
			return false, err
		}
	}
	return true, nil
}
