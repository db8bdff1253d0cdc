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
	// promiseTimes is how often the promise has to be spent until what is missing
	// is missing for good, where nothing proves it earlier.
	promiseTimes = 10
	// budgetLeast bounds the whole wait; past it there is no evidence, and the
	// trial is unknown.
	budgetLeast = 60 * time.Second
	// segmentLeast is the shortest time that a segment, or a step without any
	// fault, gets to drain, so that a busy machine neither breaks chains nor
	// records a run in another order; no verdict comes of it.
	segmentLeast = 3 * time.Second
	// stepHurt is how long the workload waits between two steps while a fault
	// is in force.
	stepHurt = 100 * time.Millisecond
)

// drain waits, on evidence, until the outbox has drained or is proven not to.
type drain struct {
	watch
	t       *trial
	ledgers *ledgers
	// refresh takes a reading of the ledgers, where there may be news.
	refresh func(context.Context) error
	// again has the broker deliver soon what is not acknowledged.
	again func(ctx context.Context, within time.Duration) error
	// attended reports whether the consumers are connected to the broker.
	attended func() bool
	before   occasion
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
	// hastened is the time of the last hurt after which the broker was hastened.
	hastened time.Time
	// actingSince is since when the consumers could act.
	actingSince time.Time
	told        time.Time // when the state of the wait was last logged
}

func (t *trial) newDrain(before occasion) *drain {
	return &drain{
		watch: newWatch(t.rec), t: t, ledgers: t.ledgers, before: before, refresh: t.ledgers.refresh,
		again:    func(ctx context.Context, within time.Duration) error { return t.stream.Hasten(ctx, within) },
		attended: t.consumersConnected,
	}
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
	// then is looked into by a trial of its own, unless the job is to prove it here.
	betweenSegments
)

// settle is one wait. Complete tells that it ended with everything there and
// nothing left to do.
func (d *drain) settle(ctx context.Context) (drained properties.Drain, complete bool, err error) {
	t, before := d.t, d.before
	hurt := time.Time{}
	for {
		change := t.rec.wait()
		healedAt, healthy, failure := t.warden.health()
		if failure != nil {
			return properties.Drain{}, false, failure
		}
		d.turn(healedAt, healthy)
		d.attend()
		if lost := t.warden.lost(); lost != "" {
			// No evidence can come from a relay, an app or a consumer that does
			// not run. The last readings are still taken.
			return properties.Drain{Basis: properties.BasisNone, Why: lost}, false, nil
		}
		if err := d.refresh(ctx); err != nil {
			return properties.Drain{}, false, err
		}
		if err := d.hasten(ctx, healedAt, healthy); err != nil {
			return properties.Drain{}, false, err
		}
		out := properties.Drain{Polls: d.polls(), Time: d.waited(), Healthy: healthy && t.relaysUp()}
		done, err := d.decide(ctx, &out, healthy)
		if err == nil && done && d.late() {
			continue // what it was decided on is of before the harness stood still
		}
		if err == nil && done && (before == atTheEnd || d.proving()) {
			done, err = t.disarm(healedAt)
		}
		if err != nil || done {
			missing, unapplied := t.ledgers.outstanding(t.job.consumers())
			return out, done && missing == 0 && unapplied == 0, err
		}
		if healthy {
			hurt = time.Time{}
		} else if hurt.IsZero() {
			hurt = t.rec.clock()
		}
		if before != atTheEnd && !d.proving() {
			promise := t.promise()
			if before == betweenSegments || !t.faulted() {
				promise.Time = max(promise.Time, segmentLeast)
			}
			spent := out.Time > promise.Time && (out.Polls >= promise.Polls || out.Time > 3*promise.Time)
			spent = spent && (t.look == nil || t.long(d.taken()))
			if spent || before == betweenSteps && !hurt.IsZero() && d.since(hurt) > stepHurt {
				out.Basis = properties.BasisNone
				return out, false, nil
			}
		}
		if err := pace(ctx, change); err != nil {
			return out, false, err
		}
	}
}

// awaitDrain waits for the outbox at the end of the trial, unless a segment
// before has ended it, and records how that ended.
func (t *trial) awaitDrain(ctx context.Context) error {
	switch {
	case t.proven: // it is recorded
		return nil
	case t.look != nil && t.look.over: // there is nothing to wait for
		return nil
	case t.look != nil:
		return t.newDrain(betweenSegments).conclude(ctx)
	case t.broken != "":
		t.rec.add(properties.Event{Kind: properties.KindDrain, Drain: &properties.Drain{Basis: properties.BasisNone, Why: t.broken}})
		return nil
	}
	return t.newDrain(atTheEnd).conclude(ctx)
}

// proving reports whether what is missing is to be proven to be, though other
// segments follow.
func (d *drain) proving() bool {
	if d.before != betweenSegments || !d.t.job.proving {
		return false
	}
	missing, unapplied := d.ledgers.outstanding(d.t.job.consumers())
	return missing+unapplied > 0
}

// conclude settles, and records how that ended.
func (d *drain) conclude(ctx context.Context) error {
	drained, complete, err := d.settle(ctx)
	if err != nil {
		return err
	}
	if complete && !d.t.unfired() {
		d.t.segments++
	}
	d.record(drained)
	return nil
}

// record tells how the wait ended.
func (d *drain) record(drained properties.Drain) {
	d.rec.add(properties.Event{Kind: properties.KindDrain, Drain: &drained})
	d.tick() // who reads the history must not take a stall since the last turn for waited
}

// pause waits between two steps of the workload.
func (t *trial) pause(ctx context.Context) error {
	_, _, err := t.newDrain(betweenSteps).settle(ctx)
	return err
}

// decide reports whether there is evidence to end the wait, and fills it in.
func (d *drain) decide(ctx context.Context, out *properties.Drain, healthy bool) (bool, error) {
	missing, unapplied := d.ledgers.outstanding(d.t.job.consumers())
	if d.now.Sub(d.told) > time.Second {
		d.told = d.now
		d.t.job.log.Debug("draining", "missing", missing, "unapplied", unapplied, "polls", out.Polls, "time", out.Time,
			"healthy", out.Healthy, "backlog", d.ledgers.backlog, "pending", d.ledgers.pending, "relays in flight", d.t.relaysInFlight(),
			"silence", d.since(d.t.rec.tally().lastAny))
	}
	budget := max(budgetLeast, 20*d.t.promise().Time, 3*time.Duration(d.ledgers.ackWait)) + d.t.startBudget()
	if missing == 0 {
		d.zeroSince = time.Time{}
		if unapplied == 0 {
			if !d.complete(out, healthy) {
				return false, nil
			}
			return d.certain(ctx, budget)
		}
		if d.graceSpent(healthy) {
			out.Basis, out.Consumers = properties.BasisComplete, true
			out.Grace = "the broker held nothing for the consumers, and they had their grace"
			return true, nil
		}
	} else if basis := d.lossProven(*out, healthy); basis != "" {
		out.Basis = basis
		out.Consumers = d.graceSpent(healthy)
		if unapplied == 0 || out.Consumers || d.taken() > budget {
			return true, nil
		}
	}
	if promise := d.t.promise(); !out.Healthy && out.Time > max(silentLeast, promiseTimes*promise.Time) && d.t.rec.tally().never {
		out.Basis = properties.BasisNone
		out.Why = "no relay has talked to Postgres or to the broker through its proxy: it does not run as it should, or its addresses are not those that the harness gave it" + d.t.late()
		return true, nil
	}
	if d.hopeless() {
		out.Basis = properties.BasisNone
		out.Why = fmt.Sprintf("the harness stood still for more than %v, again and again: the machine has too little time for it", properties.StallLeast)
		return true, nil
	}
	if d.taken() > budget {
		out.Basis = properties.BasisNone
		out.Why = fmt.Sprintf("after %v %d orders had no event and %d effects were missing, without evidence why", budget, missing, unapplied) + d.t.late()
		return true, nil
	}
	return false, nil
}
