package properties

import (
	"strings"
	"time"
)

// silentLeast is the shortest silence of a relay's links that counts as polls
// not made.
const silentLeast = 5 * time.Second

// settled says why the wait at the end is no evidence that what is missing
// will never come; empty when it is. The role is the one that had the work.
func (ix *index) settled(role string) string {
	if why := ix.unhealed(); why != "" {
		return why
	}
	if ix.drain == nil {
		return "the trial did not wait for the outbox to drain"
	}
	if ix.drain.Seq < ix.disturbed() {
		return "something was still struck, healed or started after the wait for the outbox"
	}
	if !ix.drain.Drain.Healthy {
		return because("not everything was healthy during the wait for the outbox", ix.drain.Drain.Why)
	}
	alive := map[string]bool{}
	for _, e := range ix.processes {
		if e.Seq < ix.drain.Seq && RoleOf(e.Process.Instance) == role {
			alive[e.Process.Instance] = !ended(e)
		}
	}
	for _, instance := range sortedKeys(alive) {
		if !alive[instance] {
			return instance + " did not run when the wait for the outbox ended"
		}
	}
	return ""
}

// publisher is the role that takes the outbox to the broker.
func (ix *index) publisher() string {
	if ix.relayInApp {
		return "app"
	}
	return "relay"
}

// drained says why the wait for the outbox does not prove that the event of
// the order will never come; empty when it proves it.
func (ix *index) drained(order string) string {
	if why := ix.settled(ix.publisher()); why != "" {
		return why
	}
	d, p := ix.drain.Drain, ix.trial.Promise
	switch d.Basis {
	case BasisPendingZero:
		switch {
		case ix.stoodStill():
			return "the promised drain was not spent " + sinceStall
		case !ix.trial.Pending:
			return "the wait for the outbox ended on pending, and the target has no pending query"
		case ix.final.pending != nil && *ix.final.pending.Ledger.Pending != 0:
			return "the wait for the outbox ended on pending, and its final reading is not 0"
		}
	case BasisPromise:
		switch {
		case p.Time <= 0:
			return "the target promises no time for its drain"
		case ix.waited()/10 < p.Time, d.Polls/10 < p.Polls && !ix.fellSilent() && !ix.wentRound():
			if len(ix.stalls) > 0 {
				return "ten times the promised drain was not spent " + sinceStall
			}
			return "ten times the promised drain was not spent"
		}
	case BasisComplete:
		return "the wait for the outbox ended as complete, and an event is missing: the order committed later, or the log lost it"
	default:
		return because("the wait for the outbox ended without evidence", d.Why)
	}
	return ix.committedInTime(order)
}

const sinceStall = "since the harness last stood still"

// waited is how much of the wait for the outbox counts.
func (ix *index) waited() time.Duration {
	d := ix.drain.Drain
	return min(d.Time, Waited(ix.stalls, ix.drain.At-d.Time, ix.drain.At))
}

// stoodStill reports whether the harness stood still so near to the end of the
// wait that not even the promise was spent once after it.
func (ix *index) stoodStill() bool {
	return len(ix.stalls) > 0 && ix.waited() < ix.trial.Promise.Time
}

// fellSilent reports whether the publisher's links carried nothing for so long
// before the wait ended that ten times the promised polls would have been made
// by anything that still polls: a relay that waits for notifications shows no
// polls, and one that gave up shows no more of them. The measure is the longest
// pause between two of its own polls; one that is long because the harness stood
// still asks for a longer silence.
func (ix *index) fellSilent() bool {
	var last, lastPoll, pause time.Duration
	for _, e := range ix.h[:ix.drain.Seq-1] {
		w := e.Wire
		if w == nil || RoleOf(w.Link) != ix.publisher() || w.What == WireOpen || w.What == WireClose {
			continue
		}
		last = e.At
		if w.What == WireReply && strings.HasSuffix(w.Label, " idle") && ServerOf(w.Link) == "postgres" {
			if lastPoll > 0 {
				pause = max(pause, e.At-lastPoll)
			}
			lastPoll = e.At
		}
	}
	if last == 0 {
		return false
	}
	silence, p := Waited(ix.stalls, last, ix.drain.At), ix.trial.Promise
	return min(silence, ix.waited()) >= silentLeast && silence/10 >= p.Time && silence/10 >= time.Duration(p.Polls)*pause
}

// committedInTime says why the order may have committed too late for the wait
// to have had a chance of seeing its event; empty when it did not. A backend
// can commit seconds after its client died.
func (ix *index) committedInTime(order string) string {
	known := []*Event{ix.committed[order].event}
	if a := ix.answers[order]; a != nil && a.Answer.Outcome == OK {
		known = append(known, a)
	}
	if s := ix.placing(order); len(s.done) > 0 && !s.others {
		known = append(known, s.done[0].done())
	}
	for _, e := range known {
		if e.Seq > ix.drain.Seq {
			continue
		}
		if ix.drain.Drain.Basis == BasisPendingZero || Waited(ix.stalls, e.At, ix.drain.At)/10 >= ix.trial.Promise.Time {
			return ""
		}
	}
	return "it may have committed too late for the wait for the outbox to see its event"
}
