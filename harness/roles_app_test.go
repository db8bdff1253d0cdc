package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// directVariable tells a role of these tests an address that is not its proxy's.
const directVariable = "ACCEPTANCE_DIRECT_URL"

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
