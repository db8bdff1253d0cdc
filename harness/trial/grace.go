package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/outboxtest/outboxtest/targets"
)

const (
	// graceLeast is the shortest time that a consumer gets to apply what it has
	// acknowledged.
	graceLeast = time.Second
	// hastenAfter is how long everything else has to be still before the broker
	// is asked to deliver again what a dead consumer did not acknowledge, and
	// hastenTo how long that has then been delivered, at least, when it comes
	// again: the client's default is 30 seconds.
	hastenAfter = 500 * time.Millisecond
	hastenTo    = time.Second
	// absentMost is how long a consumer that runs may be without a connection to
	// the broker before it counts as one that does nothing. A machine under load
	// takes seconds to start a process.
	absentMost = 30 * time.Second
)

// hasten asks the broker, once after each hurt, to deliver again soon what was
// delivered to a consumer that a fault has struck, so that the trial sees whether
// it is applied twice, or at all, without waiting as long as production would.
func (d *drain) hasten(ctx context.Context, hurt time.Time, healthy bool) error {
	unacked := int64(0)
	for _, b := range d.ledgers.backlog {
		if !b.Abandoned {
			unacked += b.Unacked
		}
	}
	if d.hastened.Equal(hurt) || unacked == 0 || !healthy || !d.t.faulted() || time.Duration(d.ledgers.ackWait) <= hastenTo {
		d.stillSince = time.Time{}
		return nil
	}
	if still := fmt.Sprint(d.ledgers.applied, d.ledgers.backlog); d.stillSince.IsZero() || still != d.still {
		d.stillSince, d.still = d.rec.clock(), still
	}
	if d.since(d.stillSince) < hastenAfter {
		return nil
	}
	d.hastened = hurt
	return d.again(ctx, hastenTo-hastenAfter)
}

// attend notes since when the consumers could act: everything is healthy, and each
// of them has come to the broker since. What a consumer that has just been started
// leaves undone before is the machine's.
func (d *drain) attend() {
	if d.actingSince.Before(d.whole) {
		d.actingSince = time.Time{}
	}
	if d.actingSince.IsZero() && (d.attended() || d.waited() > absentMost) {
		d.actingSince = d.now
	}
}

// acting is how long the consumers could act.
func (d *drain) acting() time.Duration {
	if d.actingSince.IsZero() {
		return 0
	}
	return d.since(d.actingSince)
}

// redelivery is how long a complete trial waits for messages that were
// delivered and never acknowledged: long enough for them to come again, unless
// the consumer asked the broker for a wait that no trial can afford. What has come
// again may be worked on by a consumer that takes its time, which is then about to
// apply it a second time.
func (d *drain) redelivery() time.Duration {
	const afford = 3 * time.Second
	wait := max(min(2*time.Duration(d.ledgers.ackWait), afford), graceLeast)
	if d.ledgers.redelivered > 0 {
		wait = max(wait, promiseTimes*d.t.promise().Time)
	}
	return wait
}

// graceSpent reports whether the consumers had their grace: they could act, the
// broker has held nothing for them, and their effects have not changed, for as long
// as a relay gets for an event that is missing. A consumer may acknowledge what it
// has written into a table of its own, and apply it from there.
func (d *drain) graceSpent(healthy bool) bool {
	applied := fmt.Sprint(d.ledgers.applied, d.ledgers.backlog)
	if !healthy || d.t.isLate(targets.RoleConsumer) || d.actingSince.IsZero() || !d.ledgers.nothingHeld() || applied != d.applied {
		d.heldSince, d.applied = time.Time{}, applied
		return false
	}
	if d.heldSince.IsZero() {
		d.heldSince = d.rec.clock()
	}
	return d.since(d.heldSince) >= max(graceLeast, promiseTimes*d.t.promise().Time)
}
