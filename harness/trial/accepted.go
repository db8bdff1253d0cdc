package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/properties"
)

// awaitCommitted waits until an order that the app has accepted is committed, and
// answers that it may be when the promise has been spent ten times: once where
// the trial has faults, whoever took the order may be dead, or only looks.
func (t *trial) awaitCommitted(ctx context.Context, in *instance, order string) answer {
	limit := promiseTimes * t.promise().Time
	if t.faulted() || t.look != nil {
		limit = t.promise().Time
	}
	later := func(why string) answer {
		return answer{outcome: properties.Unknown, why: why, accepted: true}
	}
	var hurtSince time.Time
	for begin := time.Now(); ; {
		change := t.rec.wait()
		rows, err := t.ledgers.committedRows(ctx)
		if err != nil {
			if ctx.Err() == nil {
				t.warden.fail(err)
			}
			return later(err.Error())
		}
		if slices.ContainsFunc(rows, func(r properties.Row) bool { return r.Order == order }) {
			t.rec.add(properties.Event{Kind: properties.KindLedger, Ledger: &properties.Ledger{Name: properties.LedgerCommitted, Committed: rows}})
			return answer{outcome: properties.OK, accepted: true}
		}
		if !t.warden.hurting(in.id) {
			hurtSince = time.Time{}
		} else if hurtSince.IsZero() {
			hurtSince = time.Now()
		}
		_, _, failure := t.warden.health()
		switch lost := t.warden.lost(); {
		case failure != nil:
			return later(failure.Error())
		case lost != "":
			return later(lost)
		case !hurtSince.IsZero() && time.Since(hurtSince) >= hurtLimit:
			return later("accepted, and given up while a fault was in force on " + in.id.String())
		case time.Since(begin) > limit:
			return later(fmt.Sprintf("accepted, and not committed within %v", limit))
		}
		if err := pace(ctx, change); err != nil {
			return later(err.Error())
		}
	}
}
