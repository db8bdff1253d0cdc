package parts

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// poolSize is the number of idle connections that are kept.
const poolSize = 8

// requestPatience bounds one piece of work on a pool's connection.
const requestPatience = 2 * time.Second

// Pool lends connections, as many as are asked for at once, and keeps a few.
// The zero value is ready. It is smaller than pgxpool and has no goroutine of
// its own, which a process that lives for milliseconds notices.
type Pool struct {
	mu   sync.Mutex
	idle []*pgx.Conn
}

// With runs work on a connection that nobody else uses meanwhile. One that work
// leaves broken or inside a transaction is closed, and the next caller gets a
// new one.
func (p *Pool) With(ctx context.Context, work func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	conn := p.take()
	if conn == nil {
		var err error
		if conn, err = connect(ctx, false); err != nil {
			return err
		}
	}
	err := work(ctx, conn)
	if !reusable(conn) || !p.give(conn) {
		discard(conn)
	}
	return err
}

// Close closes the idle connections. Nothing may be at work any more.
func (p *Pool) Close() {
	for conn := p.take(); conn != nil; conn = p.take() {
		discard(conn)
	}
}

// take returns the connection that was used last: few stay in use then.
func (p *Pool) take() *pgx.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	conn := p.idle[last]
	p.idle = p.idle[:last]
	return conn
}

func (p *Pool) give(conn *pgx.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == poolSize {
		return false
	}
	p.idle = append(p.idle, conn)
	return true
}
