package trial

import (
	"context"
	"time"

	"github.com/outboxtest/outboxtest/properties"
)

// certain reports whether a wait that looks complete is: no backend of a dead
// process may commit any more, and what committed until now has its events and
// effects, too.
func (d *drain) certain(ctx context.Context, budget time.Duration) (bool, error) {
	if !d.t.faulted() || d.taken() > budget {
		return true, nil
	}
	if busy, err := d.t.orphansBusy(ctx); err != nil || busy {
		return false, err
	}
	if err := d.ledgers.read(ctx); err != nil {
		return false, err
	}
	d.ledgers.record(false)
	missing, unapplied := d.ledgers.outstanding(d.t.job.consumers())
	return missing == 0 && unapplied == 0, nil
}

// complete: everything is there; the wait goes on only until the relays are
// seen to have nothing left to do and the consumers hold nothing, because what
// comes twice comes late. A row that stays pending for ever, or a request that
// is never answered, does not keep the wait from ending: the promise does.
func (d *drain) complete(out *properties.Drain, healthy bool) bool {
	out.Basis = properties.BasisComplete
	if !healthy {
		return false
	}
	tally := d.t.rec.tally()
	promise := d.t.promise()
	silence := d.since(tally.lastAny)
	// Where no poll is seen only time can tell, and a slow machine needs some.
	spent := out.Time > promise.Time && (out.Polls >= promise.Polls ||
		min(silence, out.Time) > max(silentLeast, promise.Time) || out.Time > max(silentLeast, 3*promise.Time))
	settled := d.t.relaysInFlight() == 0 && (tally.idleSinceWork > 0 || silence > quietTime)
	if d.ledgers.pending != nil {
		settled = d.t.relaysInFlight() == 0 && *d.ledgers.pending == 0
	}
	if d.before == betweenSegments && d.t.unfired() {
		return false // a chain that goes on without its fault has shown nothing
	}
	if d.before != betweenSteps && !spent && d.t.unfired() {
		return false // an idle poll may be what a fault waits for
	}
	back := d.t.relaysSeen() && d.t.relaysBack()
	if !back && out.Time < max(silentLeast, promise.Time) {
		return false
	}
	if d.before != betweenSteps && d.ledgers.pending == nil && d.t.rec.owing() && out.Time < promise.Time {
		return false // what is published and not marked is to be published again
	}
	return (settled || spent) && (d.ledgers.nothingHeld() || d.acting() > d.redelivery())
}

// lossProven returns the evidence on which a missing event is a lost one.
func (d *drain) lossProven(out properties.Drain, healthy bool) properties.Basis {
	promise := d.t.promise()
	tally := d.t.rec.tally()
	quiet := d.ledgers.pending != nil && *d.ledgers.pending == 0 && d.t.publishesInFlight() == 0 &&
		len(d.ledgers.log) == d.logLength && tally.lastWork.Equal(d.lastWork)
	d.logLength, d.lastWork = len(d.ledgers.log), tally.lastWork
	if !quiet || !healthy || !out.Healthy {
		d.zeroSince = time.Time{}
	} else if d.zeroSince.IsZero() {
		d.zeroSince, d.zeroIdle = d.rec.clock(), tally.idle
	}
	if !out.Healthy {
		return ""
	}
	silent := min(d.since(tally.lastAny), out.Time) >= max(silentLeast, promiseTimes*promise.Time)
	if !d.zeroSince.IsZero() && d.since(d.zeroSince) >= promise.Time && (tally.idle-d.zeroIdle >= promise.Polls || d.since(d.zeroSince) >= promiseTimes*promise.Time) {
		return properties.BasisPendingZero
	}
	if out.Time >= promiseTimes*promise.Time && (out.Polls >= promiseTimes*promise.Polls || silent || d.rounds() >= promiseTimes*promise.Polls) {
		return properties.BasisPromise
	}
	return ""
}

// rounds is how often a relay has gone round while everything was healthy.
func (d *drain) rounds() int {
	history, _ := d.rec.history()
	return properties.Rounds(history, d.t.relayRole(), d.now.Sub(d.rec.start)-d.waited(), d.now.Sub(d.rec.start))
}
