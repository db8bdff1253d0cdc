package parts

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets"
)

// Patience bounds every batch of work on Postgres: a connection that has died
// without a sign is given up after it.
const Patience = time.Second

// claimLife bounds how long a transaction of ours may sit idle. It is what
// frees the rows of a relay that froze with its connection open. It is longer
// than the longest batch.
const claimLife = Patience + Patience/2

// connect opens a connection that the caller closes. claims says that its
// transactions lock rows that others wait for.
func connect(ctx context.Context, claims bool) (*pgx.Conn, error) {
	url, err := setting(targets.EnvPostgresURL)
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", targets.EnvPostgresURL, err)
	}
	config.ConnectTimeout = Patience
	config.RuntimeParams["application_name"] = instance()
	if claims {
		config.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt(claimLife.Milliseconds(), 10)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	return conn, nil
}

// reusable tells whether a connection can serve the next piece of work.
func reusable(conn *pgx.Conn) bool {
	const idle = 'I' // ReadyForQuery's status outside of any transaction
	return !conn.IsClosed() && conn.PgConn().TxStatus() == idle
}

// discard closes a connection without waiting long for a server that may be gone.
func discard(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_ = conn.Close(ctx)
}
