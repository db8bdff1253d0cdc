package trial

import (
	"context"
	"errors"
	"fmt"
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
			t.call(ctx, first, "place", *step.Place)
		case step.Abort != nil:
			t.call(ctx, first, "abort", *step.Abort)
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
	outcome, why := t.ask(ctx, t.instances[id], op, o)
	t.rec.add(properties.Event{Kind: properties.KindAnswer, Answer: &properties.Answer{Op: op, Order: o.Order, Outcome: outcome, Error: why}})
}

func (t *trial) ask(ctx context.Context, in *instance, op string, o scenario.Order) (properties.Outcome, string) {
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	called := properties.Event{Kind: properties.KindCall, Call: &properties.Call{Op: op, Order: o.Order, Customer: o.Customer, Instance: in.id.String()}}
	c, err := t.waitUp(ctx, in, called, limit.C)
	if err != nil {
		t.rec.add(called)
		return properties.Unknown, err.Error()
	}
	answer, err := c.ask(op, o.Order, o.Customer)
	if err != nil {
		return properties.Unknown, err.Error()
	}
	var hurtSince time.Time
	for {
		change := t.rec.wait()
		if !t.warden.hurting(in.id) {
			hurtSince = time.Time{}
		} else if hurtSince.IsZero() {
			hurtSince = time.Now()
		} else if time.Since(hurtSince) >= hurtLimit {
			return properties.Unknown, "gave up while a fault was in force on " + in.id.String()
		}
		tick := time.NewTimer(hurtLimit)
		select {
		case r, alive := <-answer:
			tick.Stop()
			switch {
			case !alive && c.deaf():
				t.silent(in, "closed its standard output, where its answers should come")
				return properties.Unknown, "the app closed its output before it answered"
			case !alive:
				return properties.Unknown, "the app's process died before it answered"
			case *r.OK:
				return properties.OK, ""
			}
			return properties.Failed, r.Error
		case <-change:
			tick.Stop()
		case <-tick.C:
		case <-limit.C:
			tick.Stop()
			t.silent(in, fmt.Sprintf("did not answer %s %s within %v", op, o.Order, answerLimit))
			return properties.Unknown, "no answer"
		case <-ctx.Done():
			tick.Stop()
			return properties.Unknown, ctx.Err().Error()
		}
	}
}

// silent notes an app that does not speak the protocol. Without a fault there
// is nothing to learn from such a target.
func (t *trial) silent(in *instance, what string) {
	if !t.faulted() {
		t.warden.fail(&TargetError{Instance: in.id.String(), What: what, Mend: "it takes one JSON line and answers with one, see docs/stdio.md; " + in.tail()})
		return
	}
	t.rec.problem(in.id.String() + " " + what)
}

// waitUp waits until the instance has a process to talk to, and records the
// call as made to that process.
func (t *trial) waitUp(ctx context.Context, in *instance, called properties.Event, limit <-chan time.Time) (*calls, error) {
	for {
		c, up := in.conversation(called)
		if c != nil {
			return c, nil
		}
		if _, _, failure := t.warden.health(); failure != nil {
			return nil, failure
		}
		if lost := t.warden.lost(); lost != "" {
			return nil, errors.New(lost)
		}
		select {
		case <-up:
		case <-t.rec.wait():
		case <-limit:
			t.rec.problem(fmt.Sprintf("%s was not running for %v", in.id, answerLimit))
			return nil, fmt.Errorf("%s is not running", in.id)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// overlap places two orders on two instances of the app: the first one's
// commit is kept at the proxy until the second has committed and its event has
// had its chance. When the first answers without a commit of its own on the
// wire, there is nothing to keep back and the orders simply follow each other.
func (t *trial) overlap(ctx context.Context, pace scenario.Pace, late, early scenario.Order) error {
	lateApp, earlyApp := faults.Instance{Role: "app", Index: 0}, faults.Instance{Role: "app", Index: 1}
	hold := t.board.HoldNext(faults.Link{Instance: lateApp, Server: faults.Postgres}, "commit")
	defer hold.Release()
	answered := make(chan struct{})
	t.callers.Go(func() {
		defer close(answered)
		t.call(ctx, lateApp, "place", late)
	})
	select {
	case <-hold.Held():
	case <-answered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	t.call(ctx, earlyApp, "place", early)
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
