package trial

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

const (
	// lookMost is how long a look waits for roles that have not been seen on their
	// links yet: without a ready rule nobody knows when they are up.
	lookMost = 20 * time.Second
	// sightings bounds how many messages of each kind a look keeps, and sightingShown
	// how much of a body, in bytes.
	sightings     = 8
	sightingShown = 64 << 10
)

// Sighting is a message of the broker as a look saw it. A history has only what the
// manifest's rules made of it.
type Sighting struct {
	// Link, Conn and Exchange are those of the message's publish in the history;
	// zero for one of the log.
	Link     string
	Conn     int
	Exchange uint64
	Position uint64 // of one of the log
	Subject  string
	Header   map[string][]string
	Body     []byte // its beginning, at most 64 KiB
}

// Look is what a trial saw that only looked, beside its history.
type Look struct {
	// Published are the first messages that were published on links, Stored the
	// first ones of the log.
	Published, Stored []Sighting
	// Subjects are what the trial's stream takes.
	Subjects []string
	// AckWait is the longest that a consumer of the target has the broker wait for an
	// acknowledgement; 0 when there was none.
	AckWait time.Duration
	// Wrong is what did not keep the trial from going on.
	Wrong []*TargetError
}

// look gathers it. Messages come under the board's lock, errors from the warden.
type look struct {
	told func(history []properties.Event)

	mu   sync.Mutex
	seen Look
	over bool // what follows would only follow from what is wrong already
}

// Look executes a scenario without faults to see how far a target comes, and not
// to judge it: the order is placed before the relays start, what is wrong with a consumer
// does not end the trial, and the wait for the outbox ends when its promise has been
// spent once and everybody was seen, so that nothing is proven by it. told, if any, is
// called between the steps with the history so far, whose events do not have the orders'
// tokens yet where they name them otherwise. The rest is as in [Job.Run].
func (j *Job) Look(ctx context.Context, s scenario.Scenario, told func(history []properties.Event)) (Outcome, Look, error) {
	if len(s.AllFaults()) > 0 {
		return Outcome{}, Look{}, errors.New("look at a target: the scenario has faults")
	}
	l := &look{told: told}
	j.looking = l
	defer func() { j.looking = nil }()
	out, err := j.Run(ctx, s, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	return out, l.seen, err
}

// tell lets whoever looks see how far the trial has come.
func (t *trial) tell() {
	if t.look.told != nil {
		history, _ := t.rec.history()
		t.look.told(slices.Clip(history))
	}
}

// playLook is play for a look.
func (t *trial) playLook(ctx context.Context) error {
	l := t.look
	l.mu.Lock()
	l.seen.Subjects = t.stream.Subjects
	l.mu.Unlock()
	app := func(role string) bool { return role == targets.RoleApp }
	relay := func(role string) bool { return role == targets.RoleRelay }
	if err := t.start(app); err != nil {
		return err
	}
	if err := l.postpone(t.start(func(role string) bool { return role == targets.RoleConsumer })); err != nil {
		return err
	}
	if err := t.awaitReady(ctx, app); err != nil {
		return err
	}
	t.tell()
	if t.job.target.Relay.InApp {
		if err := t.awaitConsumers(ctx); err != nil {
			return err
		}
	}
	t.board.Start()
	if err := t.work(ctx, t.scenario.All()[0]); err != nil {
		return err
	}
	if err := t.awaitBlame(ctx); err != nil {
		return err
	}
	if err := t.ledgers.refresh(ctx); err != nil {
		return err
	}
	t.tell()
	if !t.placed() {
		l.over = true
		return nil
	}
	if err := t.awaitConsumers(ctx); err != nil {
		return err
	}
	if err := t.start(relay); err != nil {
		return err
	}
	return t.awaitReady(ctx, relay)
}

// awaitBlame returns the error of an app that has ended by itself, which is why it gave
// no answer.
func (t *trial) awaitBlame(ctx context.Context) error {
	if t.job.target.Limits.ExitsOnError {
		return nil // it is started again
	}
	for _, in := range t.order {
		for in.id.Role == targets.RoleApp && in.exited() > 0 {
			change := t.rec.wait()
			if _, _, failure := t.warden.health(); failure != nil {
				return failure
			}
			if err := pace(ctx, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// placed reports whether the orders were answered ok and are committed.
func (t *trial) placed() bool {
	history, _ := t.rec.history()
	for _, e := range history {
		if e.Answer != nil && e.Answer.Outcome != properties.OK {
			return false
		}
		if e.Answer != nil && !slices.ContainsFunc(t.ledgers.committed, func(r properties.Row) bool { return r.Order == e.Answer.Order }) {
			return false
		}
	}
	return true
}

// awaitConsumers is awaitReady for consumers, which do not keep a look from going on.
func (t *trial) awaitConsumers(ctx context.Context) error {
	for _, in := range t.order {
		for in.id.Role == targets.RoleConsumer && in.running() && !in.settled() {
			change := t.rec.wait()
			if _, _, failure := t.warden.health(); failure != nil {
				return failure
			}
			if in.settled() || !in.running() {
				break
			}
			if err := pace(ctx, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// postpone keeps an error of a target's consumer or of a query that is asked early,
// of each stage the first, and returns any other.
func (l *look) postpone(err error) error {
	if l == nil {
		return err
	}
	wrong, ok := errors.AsType[*TargetError](err)
	if !ok {
		return err
	}
	switch {
	case wrong.Stage == StagePending, wrong.Stage == StageApplied, wrong.Role() == targets.RoleConsumer:
	default:
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.seen.Wrong, func(w *TargetError) bool { return w.Stage == wrong.Stage && w.Instance == wrong.Instance }) {
		l.seen.Wrong = append(l.seen.Wrong, wrong)
	}
	return nil
}

// long reports whether a look has waited for everybody long enough.
func (t *trial) long(taken time.Duration) bool {
	return taken > lookMost || t.relaysSeen() && t.consumersConnected()
}

// published notes a message on a link.
func (l *look) published(o wire.Observation) {
	m := o.Event.Message
	if l == nil || m == nil || o.Label != "publish" || o.What != properties.WireRequest && o.What != properties.WireOneWay {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen.Published) < sightings {
		l.seen.Published = append(l.seen.Published, Sighting{
			Link: o.Link.String(), Conn: o.Conn, Exchange: o.Exchange, Subject: m.Subject, Header: m.Header, Body: bodyStart(m.Data),
		})
	}
}

// stored notes a message of the log; what is read again is noted once.
func (l *look) stored(m stack.Message) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := slices.ContainsFunc(l.seen.Stored, func(s Sighting) bool { return s.Position == m.Sequence })
	if !known && len(l.seen.Stored) < sightings {
		l.seen.Stored = append(l.seen.Stored, Sighting{Position: m.Sequence, Subject: m.Subject, Header: m.Header, Body: bodyStart(m.Data)})
	}
}

func bodyStart(data []byte) []byte { return bytes.Clone(data[:min(len(data), sightingShown)]) }

// acknowledges notes how long the broker waits for acknowledgements.
func (l *look) acknowledges(wait stack.AckWait) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.AckWait = max(l.seen.AckWait, time.Duration(wait))
}
