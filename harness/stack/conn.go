package stack

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Conn is a direct connection to a trial's database that mends itself: when the
// server was away it is made anew at the next use. It may be used by several
// goroutines; a second query while the rows of a first are read gets a second
// connection.
type Conn struct {
	database *Database

	mu     sync.Mutex
	idle   []*pgx.Conn
	closed bool
}

func (c *Conn) take(ctx context.Context) (*pgx.Conn, error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, fmt.Errorf("the database %s was dropped", c.database.Name)
		}
		if len(c.idle) == 0 {
			c.mu.Unlock()
			return c.connect(ctx)
		}
		conn := c.idle[len(c.idle)-1]
		c.idle = c.idle[:len(c.idle)-1]
		c.mu.Unlock()
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		bye(conn)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (c *Conn) connect(ctx context.Context) (*pgx.Conn, error) {
	config := c.database.p.configFor(c.database.Name)
	// A prepared statement breaks when a target changes its tables on the way.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database %s: %w", c.database.Name, err)
	}
	return conn, nil
}

func (c *Conn) give(conn *pgx.Conn) {
	// A transaction left open would be our own snapshot, and hold back others.
	if conn.IsClosed() || conn.PgConn().TxStatus() != 'I' {
		bye(conn)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		bye(conn)
		return
	}
	c.idle = append(c.idle, conn)
}

func (c *Conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.idle {
		bye(conn)
	}
	c.idle = nil
}

// Exec is that of [pgx.Conn].
func (c *Conn) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	conn, err := c.take(ctx)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer c.give(conn)
	return conn.Exec(ctx, sql, args...)
}

// Query is that of [pgx.Conn]: the caller closes the rows or reads them to
// their end.
func (c *Conn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	conn, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		rows.Close()
		c.give(conn)
		return nil, err
	}
	return &heldRows{Rows: rows, give: sync.OnceFunc(func() { c.give(conn) })}, nil
}

// QueryRow is that of [pgx.Conn].
func (c *Conn) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := c.Query(ctx, sql, args...)
	return heldRow{rows, err}
}

// heldRows give their connection back when they are through.
type heldRows struct {
	pgx.Rows
	give func()
}

func (r *heldRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.give()
	return false
}

func (r *heldRows) Close() {
	r.Rows.Close()
	r.give()
}

type heldRow struct {
	rows pgx.Rows
	err  error
}

func (r heldRow) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
