package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/outboxtest/outboxtest/properties"
)

const (
	// quietTime: a relay that shows no polls (it listens for notifications) is
	// taken to have nothing left to do when its links were silent for so long
	// and everything is there. It never convicts.
	quietTime = 150 * time.Millisecond
	// silentLeast is the shortest silence that counts as a promise not kept by
	// a relay that shows no polls.
	silentLeast = 5 * time.Second
	// graceLeast is the shortest time that a consumer gets to apply what it has
	// acknowledged.
	graceLeast = time.Second
	// budgetLeast bounds the whole wait; past it there is no evidence, and the
	// trial is unknown.
	budgetLeast = 60 * time.Second
	// hastenAfter is how long everything else has to be still before the broker
	// is asked to deliver again what a dead consumer did not acknowledge, and
	// hastenTo the wait that is asked for: the client's default is 30 seconds.
	hastenAfter = 500 * time.Millisecond
	hastenTo    = time.Second
	// segmentLeast is the shortest time that a segment, or a step without any
	// fault, gets to drain, so that a busy machine neither breaks chains nor
	// records a run in another order; no verdict comes of it.
	segmentLeast = 3 * time.Second
	// starvedTime is how long the harness may go without a turn of its own on a
	// busy machine before what it waits for begins anew: its clock went on, and
	// the target may have stood still.
	starvedTime = 2 * time.Second
	// stepHurt is how long the workload waits between two steps while a fault
	// is in force.
	stepHurt = 100 * time.Millisecond
)

// drain waits, on evidence, until the outbox has drained or is proven not to.
type drain struct {
	t       *trial
	ledgers *ledgers
	before  occasion
	// zeroSince is the time of the first of an unbroken row of readings that
	// all said: pending is 0, the log is unchanged, nothing is on its way to the
	// broker, and the relays have done nothing but idle polls.
	zeroSince time.Time
	zeroIdle  int
	lastWork  time.Time
	// heldSince is the same for the consumers: the broker holds nothing.
	heldSince time.Time
	logLength int
	applied   string
	// stillSince is since when nothing has changed at the consumers although
	// the broker waits for them.
	stillSince time.Time
	still      string
	hastened   bool
	told       time.Time // when the state of the wait was last logged
}

// occasion is what a wait for the outbox stands before.
type occasion uint8

const (
	// atTheEnd: whatever is missing has to be proven to be.
	atTheEnd occasion = iota
	// betweenSteps ends early: when the promise has been spent once, or when a
	// fault is in force.
	betweenSteps
	// betweenSegments ends when the promise has been spent once: what is missing
	// then is looked into by a trial of its own.
	betweenSegments
)

// settle is one wait. Complete tells that it ended with everything there and
// nothing left to do.
func (t *trial) settle(ctx context.Context, before occasion) (drained properties.Drain, complete bool, err error) {
	d := &drain{t: t, ledgers: t.ledgers, before: before}
	begin := time.Now()
	startPolls := t.rec.tally().idle
	hurt := time.Time{}
	since, turn := begin, begin
	for {
		change := t.rec.wait()
		healedAt, healthy, failure := t.warden.health()
		if failure != nil {
			return properties.Drain{}, false, failure
		}
		// Where we had no turn for so long, neither may the target have had one.
		starved := time.Since(turn) > starvedTime
		turn = time.Now()
		if healedAt.After(since) || !healthy || starved {
			since, startPolls = turn, t.rec.tally().idle
			if starved {
				d.zeroSince, d.heldSince = time.Time{}, time.Time{}
			}
		}
		if lost := t.warden.lost(); lost != "" {
			// No evidence can come from a relay, an app or a consumer that does
			// not run. The last readings are still taken.
			return properties.Drain{Basis: properties.BasisNone, Why: lost}, false, nil
		}
		if err := t.ledgers.refresh(ctx); err != nil {
			return properties.Drain{}, false, err
		}
		if err := d.hasten(ctx, healthy); err != nil {
			return properties.Drain{}, false, err
		}
		tally := t.rec.tally()
		out := properties.Drain{Polls: tally.idle - startPolls, Time: time.Since(since), Healthy: healthy && t.relaysUp()}
		done, err := d.decide(ctx, &out, healthy, begin)
		if err == nil && done && before == atTheEnd {
			done, err = t.disarm(healedAt)
		}
		if err != nil || done {
			missing, unapplied := t.ledgers.outstanding(t.job.consumers())
			return out, done && missing == 0 && unapplied == 0, err
		}
		if healthy {
			hurt = time.Time{}
		} else if hurt.IsZero() {
			hurt = time.Now()
		}
		if before != atTheEnd {
			promise := t.promise()
			if before == betweenSegments || !t.faulted() {
				promise.Time = max(promise.Time, segmentLeast)
			}
			spent := out.Time > promise.Time && (out.Polls >= promise.Polls || out.Time > 3*promise.Time)
			if spent || before == betweenSteps && !hurt.IsZero() && time.Since(hurt) > stepHurt {
				out.Basis = properties.BasisNone
				return out, false, nil
			}
		}
		if err := pace(ctx, change); err != nil {
			return out, false, err
		}
	}
}

// pause waits between two steps of the workload.
func (t *trial) pause(ctx context.Context) error {
	_, _, err := t.settle(ctx, betweenSteps)
	return err
}

// decide reports whether there is evidence to end the wait, and fills it in.
func (d *drain) decide(ctx context.Context, out *properties.Drain, healthy bool, begin time.Time) (bool, error) {
	missing, unapplied := d.ledgers.outstanding(d.t.job.consumers())
	if time.Since(d.told) > time.Second {
		d.told = time.Now()
		d.t.job.log.Debug("draining", "missing", missing, "unapplied", unapplied, "polls", out.Polls, "time", out.Time,
			"healthy", out.Healthy, "backlog", d.ledgers.backlog, "pending", d.ledgers.pending, "relays in flight", d.t.relaysInFlight(),
			"silence", time.Since(d.t.rec.tally().lastAny))
	}
	budget := max(budgetLeast, 20*d.t.promise().Time, 3*time.Duration(d.ledgers.ackWait))
	if missing == 0 {
		d.zeroSince = time.Time{}
		if unapplied == 0 {
			if !d.complete(out, healthy) {
				return false, nil
			}
			return d.certain(ctx, begin, budget)
		}
		if d.graceSpent(healthy) {
			out.Basis, out.Consumers = properties.BasisComplete, true
			out.Grace = "the broker held nothing for the consumers, and they had their grace"
			return true, nil
		}
	} else if basis := d.lossProven(*out, healthy); basis != "" {
		out.Basis = basis
		out.Consumers = d.graceSpent(healthy)
		if unapplied == 0 || out.Consumers || time.Since(begin) > budget {
			return true, nil
		}
	}
	if promise := d.t.promise(); !out.Healthy && out.Time > max(silentLeast, 10*promise.Time) && d.t.rec.tally().never {
		out.Basis = properties.BasisNone
		out.Why = "no relay has talked to Postgres or to the broker through its proxy: it does not run as it should, or its addresses are not those that the harness gave it"
		return true, nil
	}
	if time.Since(begin) > budget {
		out.Basis = properties.BasisNone
		out.Why = fmt.Sprintf("after %v %d orders had no event and %d effects were missing, without evidence why", budget, missing, unapplied)
		return true, nil
	}
	return false, nil
}

// certain reports whether a wait that looks complete is: no backend of a dead
// process may commit any more, and what committed until now has its events and
// effects, too.
func (d *drain) certain(ctx context.Context, begin time.Time, budget time.Duration) (bool, error) {
	if !d.t.faulted() || time.Since(begin) > budget {
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
	silence := time.Since(tally.lastAny)
	spent := out.Time > promise.Time && (out.Polls >= promise.Polls || silence > promise.Time || out.Time > 3*promise.Time)
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
	if !d.t.relaysSeen() && out.Time < max(silentLeast, promise.Time) {
		return false
	}
	return (settled || spent) && (d.ledgers.nothingHeld() || out.Time > d.redelivery())
}

// hasten asks the broker once to deliver again soon what was delivered to a
// consumer that a fault has struck, so that the trial sees whether it is
// applied twice, or at all, without waiting as long as production would.
func (d *drain) hasten(ctx context.Context, healthy bool) error {
	unacked := int64(0)
	for _, b := range d.ledgers.backlog {
		unacked += b.Unacked
	}
	if d.hastened || unacked == 0 || !healthy || !d.t.faulted() || time.Duration(d.ledgers.ackWait) <= hastenTo {
		d.stillSince = time.Time{}
		return nil
	}
	if still := fmt.Sprint(d.ledgers.applied, d.ledgers.backlog); d.stillSince.IsZero() || still != d.still {
		d.stillSince, d.still = time.Now(), still
	}
	if time.Since(d.stillSince) < hastenAfter {
		return nil
	}
	d.hastened = true
	return d.t.stream.Hasten(ctx, hastenTo)
}

// redelivery is how long a complete trial waits for messages that were
// delivered and never acknowledged: long enough for them to come again, unless
// the consumer asked the broker for a wait that no trial can afford.
func (d *drain) redelivery() time.Duration {
	const afford = 3 * time.Second
	return max(min(2*time.Duration(d.ledgers.ackWait), afford), graceLeast)
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
		d.zeroSince, d.zeroIdle = time.Now(), tally.idle
	}
	if !out.Healthy {
		return ""
	}
	silent := min(time.Since(tally.lastAny), out.Time) >= max(silentLeast, 10*promise.Time)
	if !d.zeroSince.IsZero() && time.Since(d.zeroSince) >= promise.Time && (tally.idle-d.zeroIdle >= promise.Polls || time.Since(d.zeroSince) >= 10*promise.Time) {
		return properties.BasisPendingZero
	}
	if out.Time >= 10*promise.Time && (out.Polls >= 10*promise.Polls || silent) {
		return properties.BasisPromise
	}
	return ""
}

// graceSpent reports whether the consumers had their grace: the broker has held
// nothing for them, and their effects have not changed, for long enough.
func (d *drain) graceSpent(healthy bool) bool {
	applied := fmt.Sprint(d.ledgers.applied, d.ledgers.backlog)
	if !healthy || !d.ledgers.nothingHeld() || applied != d.applied {
		d.heldSince, d.applied = time.Time{}, applied
		return false
	}
	if d.heldSince.IsZero() {
		d.heldSince = time.Now()
	}
	return time.Since(d.heldSince) >= max(graceLeast, d.t.promise().Time)
}
