package stack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// makePatience bounds the making of one database in the background.
const makePatience = time.Minute

// template is the database that others are copied from, and the goroutine that
// keeps copies ready.
type template struct {
	p       *Postgres
	name    string
	release func()
	ready   chan copied
	cancel  context.CancelFunc
	maker   sync.WaitGroup
}

type copied struct {
	database *Database
	err      error
}

// Template makes the database that Database copies, by applying a schema to an
// empty one, in place of an earlier template. The connection is for apply alone.
func (p *Postgres) Template(ctx context.Context, apply func(ctx context.Context, conn *pgx.Conn) error) error {
	t := &template{p: p, name: p.name(), ready: make(chan copied, 1)}
	if err := t.create(ctx, apply); err != nil {
		return fmt.Errorf("make the template database %s: %w", t.name, err)
	}
	// Two ahead: one in the channel, one in the maker's hand.
	making, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.maker.Go(func() { t.make(making) })
	p.mu.Lock()
	old := p.template
	p.template = t
	p.mu.Unlock()
	if old != nil {
		return old.close(true)
	}
	return nil
}

func (t *template) create(ctx context.Context, apply func(ctx context.Context, conn *pgx.Conn) error) (err error) {
	p := t.p
	if t.release, err = p.register(t.name); err != nil {
		return err
	}
	id := pgx.Identifier{t.name}.Sanitize()
	if err := p.make.exec(ctx, "CREATE DATABASE "+id); err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, p.configFor(t.name))
	if err != nil {
		return err
	}
	err = apply(ctx, conn)
	bye(conn)
	if err != nil {
		// Not under our context: it may be the reason.
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), makePatience)
		defer cancel()
		if dropped := p.make.do(undo, func(conn *pgx.Conn) error { return dropFrom(undo, conn, p.config, t.name) }); dropped == nil {
			t.release()
		}
		return err
	}
	// Slots are not copied, and their names, which are global, are for the copies.
	// Nobody may be connected to what is copied.
	if err := p.make.do(ctx, func(conn *pgx.Conn) error { return clearDatabase(ctx, conn, p.config, t.name) }); err != nil {
		return err
	}
	return p.make.exec(ctx, "ALTER DATABASE "+id+" ALLOW_CONNECTIONS false")
}

// make keeps copies ready until the context ends.
func (t *template) make(ctx context.Context) {
	for ctx.Err() == nil {
		// A copy once begun is finished: where it is cut off nobody knows whether
		// the database is there.
		db, err := t.copy(context.WithoutCancel(ctx))
		select {
		case t.ready <- copied{db, err}:
		case <-ctx.Done():
			if db != nil {
				t.p.dropper.add(db)
			}
		}
	}
}

// copy makes one database.
func (t *template) copy(ctx context.Context) (*Database, error) {
	ctx, cancel := context.WithTimeout(ctx, makePatience)
	defer cancel()
	db := &Database{Name: t.p.name(), p: t.p}
	var err error
	if db.release, err = t.p.register(db.Name); err != nil {
		return nil, err
	}
	sql := "CREATE DATABASE " + pgx.Identifier{db.Name}.Sanitize() + " TEMPLATE " + pgx.Identifier{t.name}.Sanitize()
	if t.p.major >= 15 {
		// Many times cheaper than the log where files are cheap to copy, and it
		// takes the caches of the catalog along.
		sql += " STRATEGY FILE_COPY"
	}
	if err := t.p.make.exec(ctx, sql); err != nil {
		t.p.dropper.add(db) // it may be there all the same
		return nil, fmt.Errorf("make the database %s: %w", db.Name, err)
	}
	return db, nil
}

// Database is a fresh copy of the template, usually made already. The caller
// drops it.
func (p *Postgres) Database(ctx context.Context) (*Database, error) {
	p.mu.Lock()
	t := p.template
	p.mu.Unlock()
	if t == nil {
		return nil, errors.New("make a database: there is no template yet")
	}
	select {
	case c := <-t.ready:
		if c.database != nil {
			return c.database, nil
		}
		if c.err == nil {
			return nil, errors.New("make a database: the template was replaced")
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a database: %w", ctx.Err())
	}
	// What failed in the background may have failed while the server was away.
	return t.copy(ctx)
}

// close ends the making. With drop, the copies made and the template go too.
func (t *template) close(drop bool) error {
	t.cancel()
	t.maker.Wait()
	close(t.ready)
	if !drop {
		return nil
	}
	for c := range t.ready {
		if c.database != nil {
			t.p.dropper.add(c.database)
		}
	}
	t.p.dropper.add(&Database{Name: t.name, p: t.p, release: t.release})
	return nil
}

// register tells the guard about a database on a server that is not ours. On an
// own one everything goes with the data.
func (p *Postgres) register(name string) (release func(), err error) {
	if p.cluster != nil {
		return func() {}, nil
	}
	return undoThing(p.guard, undoDropDatabase, thing{URL: p.url, Name: name})
}

func (p *Postgres) configFor(database string) *pgx.ConnConfig {
	config := p.config.Copy()
	config.Database = database
	return config
}

func (a *admin) exec(ctx context.Context, sql string) error {
	return a.do(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}
