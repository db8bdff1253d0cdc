package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/polling"
	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// directVariable tells a role of these tests an address that is not its proxy's.
const directVariable = "ACCEPTANCE_DIRECT_URL"

// variations are the targets of these tests whose roles are Go functions of
// their own: polling, with one role played differently.
func variations() []targets.Target {
	var list []targets.Target
	for _, v := range []struct {
		name, role string
		run        targets.RoleFunc
	}{
		{"relay-sleeps", targets.RoleRelay, sleep},
		{"consumer-applies-nothing", targets.RoleConsumer, applyNothing},
		{"app-connects-past-the-proxy-for-a-moment", targets.RoleApp, connectForAMoment},
		{"relay-leases", targets.RoleRelay, lease},
		{"relay-marks-a-range", targets.RoleRelay, markRange},
		{"app-watches-its-commit", targets.RoleApp, watchCommit},
		{"app-begins-twice", targets.RoleApp, beginTwice},
		{"app-commits-on-two-connections", targets.RoleApp, commitTwice},
		{"app-degrades-after-a-broken-start", targets.RoleApp, degradeAfterBrokenStart},
		{"relay-skips-after-a-broken-poll", targets.RoleRelay, skipAfterBrokenPoll},
		{"relay-loses-after-many-starts", targets.RoleRelay, loseAfterManyStarts},
		{"relay-gives-up-on-what-another-tried", targets.RoleRelay, giveUpTried},
		{"consumer-skips-after-a-broken-pull", targets.RoleConsumer, skipAfterBrokenPull},
	} {
		t := polling.Target()
		t.Name = v.name
		t.Relay.Replicas = 1 // so that relay.0 has the work that a scenario names
		t.Go = maps.Clone(t.Go)
		t.Go[v.role] = v.run
		list = append(list, t)
	}
	return append(list, appRelays())
}

// appRelays is polling with its relay in the app's process.
func appRelays() targets.Target {
	t := polling.Target()
	t.Name, t.Relay = "app-relays", targets.Relay{InApp: true}
	t.Go = maps.Clone(t.Go)
	delete(t.Go, targets.RoleRelay)
	t.Go[targets.RoleApp] = func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { _ = polling.Relay(ctx) }) // it ends with ctx alone
		return polling.App(ctx)
	}
	return t
}

// sleep looks healthy and does nothing.
func sleep(context.Context) error {
	for {
		time.Sleep(time.Hour)
	}
}

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

// write writes an order and its event in the connection's transaction.
func write(ctx context.Context, conn *pgx.Conn, req parts.Request) error {
	event := parts.NewEvent(req.Order, req.Customer)
	if _, err := conn.Exec(ctx, `INSERT INTO orders (ref, customer) VALUES ($1, $2)`, req.Order, req.Customer); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, `INSERT INTO outbox (event_id, payload) VALUES ($1, $2)`, event.ID, event.Payload)
	return err
}

// connectForAMoment asks for its health through the proxy, and writes each order
// on a connection past it that is closed again at once.
func connectForAMoment(ctx context.Context) error {
	var db parts.Pool
	defer db.Close()
	return parts.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, req parts.Request) error {
		if err := db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, `SELECT count(*) FROM orders`)
			return err
		}); err != nil {
			return err
		}
		conn, err := pgx.Connect(ctx, os.Getenv(directVariable))
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		return finishWith(ctx, conn, req, func() error { return write(ctx, conn, req) })
	})
}

// finishWith does work in a transaction, which it commits, or rolls back for an
// abort.
func finishWith(ctx context.Context, conn *pgx.Conn, req parts.Request, work func() error) error {
	if _, err := conn.Exec(ctx, "begin"); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	end := "commit"
	if req.Op == parts.OpAbort {
		end = "rollback"
	}
	_, err := conn.Exec(ctx, end)
	return err
}

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

// slowCommitSchema makes the commit of a row of a table take a while: a backend that
// commits does not look whether its client is still there.
func slowCommitSchema(table string, seconds float64) string {
	return fmt.Sprintf(`CREATE TABLE marker (id int); INSERT INTO marker VALUES (1);
		CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(%g); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON %s DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION dawdle()`, seconds, table)
}

// slowCommits counts the backends that are at it.
const slowCommits = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`

// watchCommit reads the table marker on a second connection once its commit is
// under way: a point on the wire for the middle of a commit.
func watchCommit(ctx context.Context) error {
	var db parts.Pool
	defer db.Close()
	return parts.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, req parts.Request) error {
		committed := make(chan error, 1)
		go func() {
			committed <- db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error {
				return finishWith(ctx, conn, req, func() error { return write(ctx, conn, req) })
			})
		}()
		err := db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			for committing := 0; committing == 0; {
				if err := conn.QueryRow(ctx, slowCommits).Scan(&committing); err != nil {
					return err
				}
			}
			_, err := conn.Exec(ctx, `SELECT id FROM marker`)
			return err
		})
		return errors.Join(err, <-committed)
	})
}

// beginTwice holds two transactions open at once: one of them counts, the other
// writes the order.
func beginTwice(ctx context.Context) error {
	var db parts.Pool
	defer db.Close()
	return parts.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, req parts.Request) error {
		return db.With(ctx, func(ctx context.Context, first *pgx.Conn) error {
			return finishWith(ctx, first, req, func() error {
				return db.With(ctx, func(ctx context.Context, second *pgx.Conn) error {
					return finishWith(ctx, second, req, func() error {
						if _, err := first.Exec(ctx, `INSERT INTO visits VALUES (1)`); err != nil {
							return err
						}
						return write(ctx, second, req)
					})
				})
			})
		})
	})
}

// degradeAfterBrokenStart takes a first connection that cannot be made for a sign
// of an emergency, in which orders go without events.
func degradeAfterBrokenStart(ctx context.Context) error {
	var db parts.Pool
	defer db.Close()
	var started, degraded atomic.Bool
	return parts.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, req parts.Request) error {
		err := db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			started.Store(true)
			return finishWith(ctx, conn, req, func() error {
				if degraded.Load() {
					_, err := conn.Exec(ctx, `INSERT INTO orders (ref, customer) VALUES ($1, $2)`, req.Order, req.Customer)
					return err
				}
				return write(ctx, conn, req)
			})
		})
		if err != nil && !started.Load() {
			degraded.Store(true)
		}
		return err
	})
}

// commitTwice writes the order and its event in two transactions on two
// connections: a crash between the two commits loses the event.
func commitTwice(ctx context.Context) error {
	var db parts.Pool
	defer db.Close()
	return parts.Serve(ctx, os.Stdin, os.Stdout, func(ctx context.Context, req parts.Request) error {
		event := parts.NewEvent(req.Order, req.Customer)
		return db.With(ctx, func(ctx context.Context, orders *pgx.Conn) error {
			return db.With(ctx, func(ctx context.Context, events *pgx.Conn) error {
				if _, err := orders.Exec(ctx, "begin"); err != nil {
					return err
				}
				if _, err := events.Exec(ctx, "begin"); err != nil {
					return err
				}
				if _, err := orders.Exec(ctx, `INSERT INTO orders (ref, customer) VALUES ($1, $2)`, req.Order, req.Customer); err != nil {
					return err
				}
				if _, err := events.Exec(ctx, `INSERT INTO outbox (event_id, payload) VALUES ($1, $2)`, event.ID, event.Payload); err != nil {
					return err
				}
				end := "commit"
				if req.Op == parts.OpAbort {
					end = "rollback"
				}
				// Both are sent before either is answered, the order's first.
				order, outbox := orders.PgConn().Exec(ctx, end), events.PgConn().Exec(ctx, end)
				_, failed := order.ReadAll()
				_, failedToo := outbox.ReadAll()
				return errors.Join(failed, failedToo)
			})
		})
	})
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
