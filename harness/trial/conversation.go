package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// What an app is asked to do with an order.
const (
	opPlace, opAbort = "place", "abort"
	// opIntroduce has the app know the order's customer; it is not of the order.
	opIntroduce = "introduce"
)

// conversation is how one life of an app is asked for orders. Whoever made it
// closes it when the process has died: what was not answered then stays unknown.
type conversation interface {
	// open finds out whether the process takes an order now, and makes a way to
	// ask for it. The error says why it does not.
	open(ctx context.Context) (line, error)
	// deaf reports whether the process has left an order without an answer and
	// lives on.
	deaf() bool
	// close returns when the answers that the process gave before it died are
	// there; the calls that still wait have ended then.
	close()
}

// line is a way to ask for one order. It is used once: asked or hung up.
type line interface {
	// ask asks. The channel yields the answer, or is closed when the process died
	// first.
	ask(op string, o scenario.Order) <-chan answer
	hangUp()
}

// answer is how a call ended.
type answer struct {
	outcome properties.Outcome
	why     string
	// accepted: the order is taken, and may be committed later.
	accepted bool
	// wrong is what the target is to be told of it where there is no fault.
	wrong *TargetError
}

// unanswered is the outcome of an order that may have been heard.
func unanswered(why string) answer { return answer{outcome: properties.Unknown, why: why} }

// converse begins the conversation with a life of an instance; nil for those that
// are asked nothing.
func (t *trial) converse(in *instance, p *proc.Process) conversation {
	switch {
	case in.spec.Stdin:
		return newCalls(p)
	case in.id.Role == targets.RoleApp && t.web != nil:
		return newHTTPCalls(t.web, in)
	}
	return nil
}

// conversation returns the conversation with the running process, once that is
// ready, or a channel that is closed when there is one.
func (in *instance) conversation() (conversation, <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.isUp {
		return nil, in.up
	}
	return in.calls, in.up
}

// call records a call that is about to be made to the process of the
// conversation, so that the process's death follows it in the history, and reports
// whether that is still there.
func (in *instance) call(c conversation, called properties.Event) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.calls != c {
		return false
	}
	in.t.rec.add(called)
	return true
}

// reach waits until the instance has a process that takes an order, and records
// the call, if any, as made to that process.
func (t *trial) reach(ctx context.Context, in *instance, called *properties.Event, limit <-chan time.Time) (conversation, line, error) {
	// knock is the time between two tries of a process that takes no order.
	const knock = 10 * time.Millisecond
	for {
		change := t.rec.wait()
		c, up := in.conversation()
		refused := fmt.Errorf("%s was not running for %v", in.id, answerLimit)
		var again <-chan time.Time
		if c != nil {
			l, err := c.open(ctx)
			if err == nil {
				if called == nil || in.call(c, *called) {
					return c, l, nil
				}
				l.hangUp()
				continue
			}
			refused = fmt.Errorf("%s took no order for %v: %w", in.id, answerLimit, err)
			up, change, again = nil, nil, time.After(knock)
		}
		if _, _, failure := t.warden.health(); failure != nil {
			return nil, nil, failure
		}
		if lost := t.warden.lost(); lost != "" {
			return nil, nil, errors.New(lost)
		}
		select {
		case <-up:
		case <-change:
		case <-again:
		case <-limit:
			t.rec.problem(refused.Error())
			return nil, nil, refused
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// await waits for the answer of a call.
func (t *trial) await(ctx context.Context, in *instance, c conversation, what string, answers <-chan answer, limit <-chan time.Time) answer {
	var hurtSince time.Time
	for {
		change := t.rec.wait()
		if !t.warden.hurting(in.id) {
			hurtSince = time.Time{}
		} else if hurtSince.IsZero() {
			hurtSince = time.Now()
		} else if time.Since(hurtSince) >= hurtLimit {
			return unanswered("gave up while a fault was in force on " + in.id.String())
		}
		tick := time.NewTimer(hurtLimit)
		select {
		case a, alive := <-answers:
			tick.Stop()
			switch {
			case alive:
				return a
			case c.deaf():
				t.silent(in, "closed its standard output, where its answers should come")
				return unanswered("the app closed its output before it answered")
			}
			return unanswered("the app's process died before it answered")
		case <-change:
			tick.Stop()
		case <-tick.C:
		case <-limit:
			tick.Stop()
			if !t.warden.struck() { // else its caller gives up, and may have been served or not
				t.silent(in, fmt.Sprintf("did not answer %s within %v", what, answerLimit))
			}
			return unanswered(fmt.Sprintf("no answer within %v", answerLimit))
		case <-ctx.Done():
			tick.Stop()
			return unanswered(ctx.Err().Error())
		}
	}
}

// silent notes an app that does not speak the protocol. Without a fault there
// is nothing to learn from such a target.
func (t *trial) silent(in *instance, what string) {
	if t.faulted() {
		t.rec.problem(in.id.String() + " " + what)
		return
	}
	mend := "it takes one JSON line and answers with one, see docs/stdio.md"
	if t.web != nil {
		mend = "an order is placed by the requests of app.place"
	}
	t.warden.fail(&TargetError{Stage: StageOrder, Instance: in.id.String(), What: what, Mend: mend, Log: in.tail()})
}
