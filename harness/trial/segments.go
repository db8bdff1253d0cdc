package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// play starts the roles and works the segments of the scenario, one after
// another: each begins when the one before has drained, with every fault struck
// and healed. Where that does not come about, those that follow are left out,
// and the history says so.
func (t *trial) play(ctx context.Context) error {
	if t.look != nil {
		return t.playLook(ctx)
	}
	all := t.scenario.All()
	for i, s := range all {
		if err := t.playSegment(ctx, i, s); err != nil {
			return err
		}
		if i == len(all)-1 {
			break
		}
		d := t.newDrain(betweenSegments)
		ended, complete, err := d.settle(ctx)
		if err != nil {
			return err
		}
		if !complete || t.unfired() {
			t.broken = fmt.Sprintf("segment %d %s, and what follows was left out", i, t.whyBroken(ended))
			if d.proving() && ended.Basis != properties.BasisNone {
				d.record(ended)
				t.proven = true
			}
			return nil
		}
		t.segments++
	}
	return nil
}

// whyBroken says why a segment did not come to its end.
func (t *trial) whyBroken(ended properties.Drain) string {
	for _, s := range t.board.Faults() {
		if !s.Fired() {
			return fmt.Sprintf("did not drain with its faults struck: %s found nothing to strike: %s", s.Fault, s.Why)
		}
	}
	missing, unapplied := t.ledgers.outstanding(t.job.consumers())
	text := fmt.Sprintf("did not drain: %d orders had no event and %d effects were missing", missing, unapplied)
	if ended.Why != "" {
		text += ": " + ended.Why
	}
	return text
}

// playSegment works one segment.
func (t *trial) playSegment(ctx context.Context, i int, s scenario.Segment) error {
	held := s.Pace == scenario.Batch
	if i == 0 {
		first := func(role string) bool { return role != "relay" || !held }
		if err := t.start(first); err != nil {
			return err
		}
		if err := t.awaitReady(ctx, first); err != nil {
			return err
		}
		t.board.Start()
	} else if err := t.begin(i, s, held); err != nil {
		return err
	}
	if err := t.work(ctx, s); err != nil {
		return err
	}
	return t.start(func(role string) bool { return role == "relay" && held })
}

// begin begins a segment after the first.
func (t *trial) begin(i int, s scenario.Segment, held bool) error {
	if held {
		if err := t.restRelays(); err != nil {
			return err
		}
	}
	for _, in := range t.order {
		in.forgive()
	}
	t.rec.add(properties.Event{Kind: properties.KindSegment, Segment: i})
	if err := t.board.Next(s.Faults); err != nil {
		return fmt.Errorf("arm the faults of segment %d: %w", i, err)
	}
	return nil
}

// restRelays kills the relays, which have nothing to do, and returns when their
// connections are closed: what comes on those links next is of new processes.
func (t *trial) restRelays() error {
	var relays []*instance
	for _, in := range t.order {
		if in.id.Role != "relay" {
			continue
		}
		if err := in.kill(); err != nil {
			return err
		}
		relays = append(relays, in)
	}
	err := t.parting(relays)
	if err != nil {
		t.rec.problem(err.Error())
	}
	return err
}

// faulted reports whether the scenario has any fault: without one, a target
// that misbehaves is not what it must be.
func (t *trial) faulted() bool { return len(t.scenario.AllFaults()) > 0 }

// unfired reports whether a fault still waits for its moment.
func (t *trial) unfired() bool {
	for _, s := range t.board.Faults() {
		if !s.Fired() {
			return true
		}
	}
	return false
}

// disarm lets no fault strike any more, and reports whether none has since the
// given time of the last hurt: it would count as struck, and nobody would have
// watched the recovery.
func (t *trial) disarm(hurt time.Time) (quiet bool, err error) {
	if err := t.board.Next(nil); err != nil {
		return false, fmt.Errorf("disarm the faults: %w", err)
	}
	since, _, _ := t.warden.health()
	return since.Equal(hurt), nil
}

// reportUnfired records the faults that never fired, with what was seen
// instead, and those of segments that were not reached.
func (t *trial) reportUnfired() {
	armed := t.board.Faults()
	for i, f := range t.scenario.AllFaults() {
		why := t.broken
		if i < len(armed) {
			if armed[i].Fired() {
				continue
			}
			why = armed[i].Why
		}
		t.rec.add(properties.Event{Kind: properties.KindFault, Fault: &properties.Fault{
			Index: i, What: "not fired", Text: f.String(), Why: why}})
	}
	if t.broken != "" && !t.proven {
		t.rec.problem(t.broken)
	}
}
