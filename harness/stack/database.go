package stack

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Database is the database of one trial.
type Database struct {
	// Name is its name on the server.
	Name string

	p       *Postgres
	release func()

	mu      sync.Mutex
	conn    *Conn
	dropped bool
}

// URL is how to connect through the given host:port, or through the server's own
// when that is empty: without TLS, with user and password.
func (d *Database) URL(addr string) string {
	return d.p.URL(d.Name, addr)
}

// URL is how to connect to a database of the server, as [Database.URL] says.
func (p *Postgres) URL(database, addr string) string {
	if addr == "" {
		addr = p.Addr()
	}
	user, password := p.Credentials()
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: addr, Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Connect makes a direct connection; the caller closes it.
func (d *Database) Connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, d.p.configFor(d.Name))
	if err != nil {
		return nil, fmt.Errorf("connect to the database %s: %w", d.Name, err)
	}
	return conn, nil
}

// Conn is the direct connection for reading the ledgers. It is made when first
// used, and closed by Drop.
func (d *Database) Conn() *Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil {
		d.conn = &Conn{database: d}
	}
	return d.conn
}

// Backend is a session of the database that is not the harness's own.
type Backend struct {
	PID uint32
	// XactStart is when its transaction began; nil when it has none.
	XactStart *time.Time
	// State is that of pg_stat_activity, as "idle in transaction".
	State string
	// ClientPort is the port of its client; 0 for a Unix socket.
	ClientPort int
	// ApplicationName is what the client calls itself.
	ApplicationName string
	// Type is "client backend" or "walsender".
	Type string
}

// Backends lists the sessions of clients in the database, walsenders included,
// the harness's own left out.
func (d *Database) Backends(ctx context.Context) ([]Backend, error) {
	var list []Backend
	err := d.p.watch.do(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT pid, xact_start, coalesce(state, ''), greatest(coalesce(client_port, 0), 0),
				coalesce(application_name, ''), backend_type
			FROM pg_stat_activity
			WHERE datname = $1 AND application_name IS DISTINCT FROM $2 AND backend_type IN ('client backend', 'walsender')
			ORDER BY pid`, d.Name, applicationName)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Backend])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the backends of the database %s: %w", d.Name, err)
	}
	return list, nil
}

// PreparedTransaction is one that waits for its second phase.
type PreparedTransaction struct {
	GID      string
	Prepared time.Time
	Owner    string
}

// PreparedTransactions lists those of the database. Drop rolls them back.
func (d *Database) PreparedTransactions(ctx context.Context) ([]PreparedTransaction, error) {
	var list []PreparedTransaction
	err := d.p.watch.do(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "SELECT gid, prepared, owner FROM pg_prepared_xacts WHERE database = $1 ORDER BY prepared, gid", d.Name)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[PreparedTransaction])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the prepared transactions of the database %s: %w", d.Name, err)
	}
	return list, nil
}

// Drop ends the database's sessions, drops its replication slots and rolls back
// its prepared transactions, and then has the database itself dropped in the
// background; Stack.Close waits for that. Calling it again does nothing.
func (d *Database) Drop(ctx context.Context) error {
	d.mu.Lock()
	conn, again := d.conn, d.dropped
	d.dropped = true
	d.mu.Unlock()
	if again {
		return nil
	}
	if conn != nil {
		conn.close()
	}
	err := d.p.watch.do(ctx, func(conn *pgx.Conn) error { return clearDatabase(ctx, conn, d.p.config, d.Name) })
	d.p.dropper.add(d)
	return err
}

// quote is text as an SQL literal. Where no parameter can stand there is no
// other way.
func quote(text string) string {
	escaped := strings.ReplaceAll(text, "'", "''")
	if strings.Contains(text, `\`) {
		return " E'" + strings.ReplaceAll(escaped, `\`, `\\`) + "'"
	}
	return "'" + escaped + "'"
}
