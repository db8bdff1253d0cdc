package trial

import (
	"context"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

const (
	// answerLimit bounds the wait for an answer. An app that is silent for so
	// long makes the trial unknown, never a violation.
	answerLimit = 30 * time.Second
	// hurtLimit is how long a caller waits while a fault is in force on the
	// app that it asked; the outcome is then unknown, as for any client that
	// gives up.
	hurtLimit = 200 * time.Millisecond
)

// work runs a segment's workload, step after step.
func (t *trial) work(ctx context.Context, s scenario.Segment) error {
	first := faults.Instance{Role: "app", Index: 0}
	for i, step := range s.Workload {
		var err error
		switch {
		case step.Place != nil:
			t.call(ctx, first, opPlace, *step.Place)
		case step.Abort != nil:
			t.call(ctx, first, opAbort, *step.Abort)
		default:
			err = t.overlap(ctx, s.Pace, step.Overlap[0], step.Overlap[1])
		}
		if err != nil {
			return err
		}
		if s.Pace != scenario.Batch && i < len(s.Workload)-1 {
			if err := t.pause(ctx); err != nil {
				return err
			}
		}
		if _, _, failure := t.warden.health(); failure != nil {
			return failure
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// call asks one instance of the app for an order and records how it ended.
func (t *trial) call(ctx context.Context, id faults.Instance, op string, o scenario.Order) {
	a := t.ask(ctx, t.instances[id], op, o)
	t.rec.add(properties.Event{Kind: properties.KindAnswer, Answer: &properties.Answer{
		Op: op, Order: o.Order, Outcome: a.outcome, Error: a.why, Accepted: a.accepted}})
}

func (t *trial) ask(ctx context.Context, in *instance, op string, o scenario.Order) answer {
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	called := properties.Event{Kind: properties.KindCall, Call: &properties.Call{Op: op, Order: o.Order, Customer: o.Customer, Instance: in.id.String()}}
	if a := t.introduce(ctx, in, o, limit.C); a.outcome != properties.OK {
		t.rec.add(called)
		return t.told(ctx, a)
	}
	c, l, err := t.reach(ctx, in, &called, limit.C)
	if err != nil {
		t.rec.add(called)
		return unanswered(err.Error())
	}
	a := t.told(ctx, t.await(ctx, in, c, op+" "+o.Order, l.ask(op, o), limit.C))
	if a.accepted {
		return t.awaitCommitted(ctx, in, o.Order)
	}
	return a
}

// introduce has the app know the order's customer, where that takes requests of
// its own and has not been done yet.
func (t *trial) introduce(ctx context.Context, in *instance, o scenario.Order, limit <-chan time.Time) answer {
	if t.web == nil || !t.web.stranger(o.Customer) {
		return answer{outcome: properties.OK}
	}
	c, l, err := t.reach(ctx, in, nil, limit)
	if err != nil {
		return unanswered(err.Error())
	}
	a := t.await(ctx, in, c, "the requests for customer "+o.Customer, l.ask(opIntroduce, o), limit)
	if a.outcome == properties.Unknown {
		a.outcome = properties.Failed // the order was not asked for
	}
	return a
}

// told takes note of an answer that is wrong where there is no fault.
func (t *trial) told(ctx context.Context, a answer) answer {
	if a.wrong != nil && !t.faulted() && ctx.Err() == nil {
		t.warden.fail(a.wrong)
	}
	return a
}

// overlap places two orders on two instances of the app: the first one's
// commit is kept at the proxy until the second has committed and its event has
// had its chance. When the first answers without a commit of its own on the
// wire, there is nothing to keep back and the orders simply follow each other.
func (t *trial) overlap(ctx context.Context, pace scenario.Pace, late, early scenario.Order) error {
	lateApp, earlyApp := faults.Instance{Role: "app", Index: 0}, faults.Instance{Role: "app", Index: 1}
	// What comes before the orders is not to be held in their place. Where it
	// fails, the order says so.
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	t.introduce(ctx, t.instances[lateApp], late, limit.C)
	t.introduce(ctx, t.instances[earlyApp], early, limit.C)
	hold := t.board.HoldNext(faults.Link{Instance: lateApp, Server: faults.Postgres}, "commit")
	defer hold.Release()
	answered := make(chan struct{})
	t.callers.Go(func() {
		defer close(answered)
		t.call(ctx, lateApp, opPlace, late)
	})
	select {
	case <-hold.Held():
	case <-answered:
		t.call(ctx, earlyApp, opPlace, early)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	t.call(ctx, earlyApp, opPlace, early)
	if pace != scenario.Batch {
		if err := t.awaitEvent(ctx, early.Order, func() bool { return t.heldUntil(lateApp) }); err != nil {
			return err
		}
	}
	hold.Release()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// heldUntil reports whether a hold of the scenario keeps something back until an
// exchange of the instance with Postgres.
func (t *trial) heldUntil(in faults.Instance) bool {
	return slices.ContainsFunc(t.board.Faults(), func(s wire.Status) bool {
		until := s.Fault.Until
		return s.State == wire.StateFired && until != nil && until.Link.Matches(faults.Link{Instance: in, Server: faults.Postgres})
	})
}
