package trial

import (
	"context"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/properties"
)

// awaitEvent waits until the order's event is out and the relay has turned to
// other things, or until the relay has polled so often without it that it is
// not going to: one that waits for older transactions to end is right to. It
// does not wait for what itself waits until the caller goes on, which called
// for reports.
func (t *trial) awaitEvent(ctx context.Context, order string, calledFor func() bool) error {
	promise := t.promise()
	begin, startPolls := time.Now(), t.rec.tally().idle
	limit := max(silentLeast, promiseTimes*promise.Time)
	for {
		change := t.rec.wait()
		if err := t.ledgers.refresh(ctx); err != nil {
			return err
		}
		tally := t.rec.tally()
		out := slices.ContainsFunc(t.ledgers.log, func(m properties.Message) bool { return m.Order != "" && t.ledgers.token(m.Order) == order })
		turned := tally.idleSinceWork > 0 || time.Since(tally.lastAny) > quietTime
		_, healthy, failure := t.warden.health()
		polled := tally.idle-startPolls > 3*promise.Polls && time.Since(begin) > promise.Time
		hurt := !healthy && time.Since(begin) > stepHurt
		if failure != nil || t.warden.lost() != "" || calledFor() || out && turned || polled || hurt || time.Since(begin) > limit {
			return failure
		}
		if err := pace(ctx, change); err != nil {
			return err
		}
	}
}

// pace waits for something to happen, or a moment, but never reads the ledgers
// in a spin.
func pace(ctx context.Context, change <-chan struct{}) error {
	const spin, idle = 2 * time.Millisecond, 25 * time.Millisecond
	timer := time.NewTimer(spin)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	timer.Reset(idle)
	select {
	case <-change:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
