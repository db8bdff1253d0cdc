package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
)

// quiesce waits until no backend of the trial's database has a transaction: a
// backend can commit seconds after its client died.
func (t *trial) quiesce(ctx context.Context) error {
	const limit = 60 * time.Second
	for w := newWatch(t.rec); ; w.tick() {
		backends, err := t.db.Backends(ctx)
		if err != nil {
			return fmt.Errorf("wait for the backends to finish: %w", err)
		}
		busy := 0
		for _, b := range backends {
			if b.XactStart != nil {
				busy++
			}
		}
		if busy == 0 {
			break
		}
		if w.past(limit) {
			return fmt.Errorf("%d backends of the trial's database still had a transaction %v after every process was dead", busy, limit)
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	prepared, err := t.db.PreparedTransactions(ctx)
	if err != nil {
		return fmt.Errorf("look for prepared transactions: %w", err)
	}
	if len(prepared) > 0 {
		t.rec.problem(fmt.Sprintf("%d prepared transactions were left and are rolled back: what they wrote is not judged", len(prepared)))
	}
	t.rec.add(properties.Event{Kind: properties.KindQuiesced})
	return nil
}

// orphansBusy reports whether a backend that a struck connection left behind
// still has a transaction: it may commit yet.
func (t *trial) orphansBusy(ctx context.Context) (bool, error) {
	backends, err := t.db.Backends(ctx)
	if err != nil {
		return false, fmt.Errorf("look for transactions of dead processes: %w", err)
	}
	living := t.board.Living()[faults.Postgres]
	return slices.ContainsFunc(backends, func(b stack.Backend) bool {
		return b.XactStart != nil && !slices.Contains(living, uint64(b.PID))
	}), nil
}

// waitBackendsGone waits until Postgres shows none of the backends.
func (t *trial) waitBackendsGone(ctx context.Context, pids []uint64) error {
	const limit = 30 * time.Second
	gone := map[uint64]bool{}
	for _, pid := range pids {
		gone[pid] = true
	}
	for w := newWatch(t.rec); ; w.tick() {
		backends, err := t.db.Backends(ctx)
		if err != nil {
			return fmt.Errorf("wait until the dead process's backends are gone: %w", err)
		}
		left := 0
		for _, b := range backends {
			if gone[uint64(b.PID)] {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if w.past(limit) {
			return fmt.Errorf("%d backends of a dead process were still there after %v", left, limit)
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}
