package parts

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	idlePause  = 10 * time.Millisecond
	leastPause = 10 * time.Millisecond
	mostPause  = 100 * time.Millisecond
)

// Step is one round of a role's work. It tells whether there was something to
// do: if so the next round follows at once.
type Step func(ctx context.Context, conn *pgx.Conn) (worked bool, err error)

// Loop runs step until ctx ends, on one Postgres connection that it opens,
// replaces when it is broken, and closes. After an error it waits, a little
// longer after each further one. It returns nil.
func Loop(ctx context.Context, step Step) error {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			discard(conn)
		}
	}()
	backoff := leastPause
	for ctx.Err() == nil {
		if conn == nil {
			var err error
			if conn, err = connect(ctx, true); err != nil {
				conn = nil
				slog.Warn("no connection", "error", err)
				backoff = pauseAfterError(ctx, backoff)
				continue
			}
		}
		worked, err := step(ctx, conn)
		if !reusable(conn) {
			discard(conn)
			conn = nil
		}
		switch {
		case err != nil:
			slog.Warn("round failed", "error", err)
			backoff = pauseAfterError(ctx, backoff)
			continue
		case !worked:
			pause(ctx, idlePause)
		}
		backoff = leastPause
	}
	return nil
}

// pauseAfterError waits and returns how long to wait the next time.
func pauseAfterError(ctx context.Context, backoff time.Duration) time.Duration {
	pause(ctx, backoff)
	return min(2*backoff, mostPause)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
