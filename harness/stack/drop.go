package stack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// dropPatience bounds the drop of one database.
const dropPatience = time.Minute

// dropper drops databases in the background, one after another.
type dropper struct {
	p    *Postgres
	work sync.WaitGroup

	mu      sync.Mutex
	waiting []*Database
	busy    bool
	errs    []error
}

func newDropper(p *Postgres) *dropper { return &dropper{p: p} }

// add returns at once.
func (d *dropper) add(db *Database) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, db)
	if !d.busy {
		d.busy = true
		d.work.Go(d.run)
	}
}

// run drops until nothing waits.
func (d *dropper) run() {
	for {
		d.mu.Lock()
		if len(d.waiting) == 0 {
			d.busy = false
			d.mu.Unlock()
			return
		}
		db := d.waiting[0]
		d.waiting = d.waiting[1:]
		d.mu.Unlock()
		if err := d.one(db); err != nil {
			d.mu.Lock()
			d.errs = append(d.errs, err)
			d.mu.Unlock()
		}
	}
}

func (d *dropper) one(db *Database) error {
	ctx, cancel := context.WithTimeout(context.Background(), dropPatience)
	defer cancel()
	err := d.p.drop.do(ctx, func(conn *pgx.Conn) error { return dropFrom(ctx, conn, d.p.config, db.Name) })
	if err != nil {
		return err
	}
	db.release()
	return nil
}

// close waits until everything is dropped, or, when the data goes anyway, only
// for the drop that is under way.
func (d *dropper) close(everything bool) error {
	if !everything {
		d.mu.Lock()
		d.waiting = nil
		d.mu.Unlock()
	}
	d.work.Wait()
	if !everything {
		return nil
	}
	return errors.Join(d.errs...)
}

// dropDatabase is the guard's way: on a connection of its own.
func dropDatabase(ctx context.Context, config *pgx.ConnConfig, name string) error {
	conn, err := pgx.ConnectConfig(ctx, own(config))
	if err != nil {
		return fmt.Errorf("connect to drop the database %s: %w", name, err)
	}
	defer bye(conn)
	return dropFrom(ctx, conn, config, name)
}

// dropFrom drops a database with everything that keeps it.
func dropFrom(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, name string) error {
	if err := clearDatabase(ctx, conn, config, name); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop the database %s: %w", name, err)
	}
	return nil
}

// clearDatabase ends the sessions of a database and removes its replication slots and
// prepared transactions: names of slots are global, and the next trial may use
// the same.
func clearDatabase(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, name string) error {
	var ended, slots, prepared int
	err := conn.QueryRow(ctx, `SELECT
		(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()),
		(SELECT count(*) FROM pg_replication_slots WHERE database = $1),
		(SELECT count(*) FROM pg_prepared_xacts WHERE database = $1)`, name).Scan(&ended, &slots, &prepared)
	if err != nil {
		return fmt.Errorf("end the sessions of the database %s: %w", name, err)
	}
	if slots > 0 {
		if err := dropSlots(ctx, conn, name); err != nil {
			return fmt.Errorf("drop the replication slots of the database %s: %w", name, err)
		}
	}
	if prepared > 0 {
		if err := rollBackPrepared(ctx, config, name); err != nil {
			return fmt.Errorf("roll back the prepared transactions of the database %s: %w", name, err)
		}
	}
	return nil
}

// dropSlots waits for walsenders that were told to end: a slot in use cannot be
// dropped.
func dropSlots(ctx context.Context, conn *pgx.Conn, name string) error {
	for {
		var left, active int
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM (SELECT pg_drop_replication_slot(slot_name)
			FROM pg_replication_slots WHERE database = $1 AND NOT active) AS dropped`, name).Scan(&left); err != nil {
			return err
		}
		if err := conn.QueryRow(ctx, `SELECT count(*), count(pg_terminate_backend(active_pid))
			FROM pg_replication_slots WHERE database = $1`, name).Scan(&left, &active); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context) error {
	timer := time.NewTimer(2 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rollBackPrepared needs a connection to the database itself.
func rollBackPrepared(ctx context.Context, config *pgx.ConnConfig, name string) error {
	config = config.Copy()
	config.Database = name
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer bye(conn)
	rows, err := conn.Query(ctx, "SELECT gid FROM pg_prepared_xacts WHERE database = $1", name)
	if err != nil {
		return err
	}
	gids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, gid := range gids {
		if _, err := conn.Exec(ctx, "ROLLBACK PREPARED "+quote(gid)); err != nil {
			return err
		}
	}
	return nil
}
