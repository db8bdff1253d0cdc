package stack

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// closePatience bounds the goodbye on a connection.
const closePatience = time.Second

// admin is one connection to the administrative database, made when it is needed
// and made again when the server was away.
type admin struct {
	config *pgx.ConnConfig

	mu   sync.Mutex
	conn *pgx.Conn
}

// do has the connection for itself.
func (a *admin) do(ctx context.Context, use func(*pgx.Conn) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	// A server that was restarted shows only when it is asked.
	if a.conn != nil && (a.conn.IsClosed() || a.conn.Ping(ctx) != nil) {
		bye(a.conn)
		a.conn = nil
	}
	if a.conn == nil {
		conn, err := pgx.ConnectConfig(ctx, a.config)
		if err != nil {
			return err
		}
		a.conn = conn
	}
	return use(a.conn)
}

func (a *admin) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil {
		bye(a.conn)
		a.conn = nil
	}
}

// bye closes a connection; what goes wrong with that matters to nobody.
func bye(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	_ = conn.Close(ctx)
}
