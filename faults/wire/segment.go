package wire

import (
	"errors"
	"fmt"

	"github.com/outboxtest/outboxtest/faults"
)

// Next takes the faults of another segment of the trial. Their occurrences are
// counted from now on: #1 is the first exchange that has not yet shown itself
// to be one of those before. An open exchange that may still turn out idle has
// not. The numbers of what is observed go on without a break.
//
// The faults' indexes continue those of the faults before, whose points are
// forgotten: one that has not fired never will.
func (b *Board) Next(fs []faults.Fault) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for i, f := range fs {
		if err := refuse(f); err != nil {
			errs = append(errs, fmt.Errorf("fault %d (%s): %w", len(b.faults)+i, f, err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, f := range b.faults {
		if f.state == StateArmed {
			f.state = StateDisarmed
		}
	}
	clear(b.watches)
	clear(b.withholds)
	for _, f := range fs {
		b.arm(len(b.faults), f, b.settled)
	}
	b.startClocks()
	return nil
}

// settled is how many occurrences of a point's label have their number for
// good, in the scope that the point counts in. Exchanges under way whose number
// may be given back are not among them.
func (b *Board) settled(p faults.Point) int {
	s, _, known := b.seen(p.Link)
	if !known {
		return 0
	}
	n := s.of(p.Label).used()
	for _, l := range b.links {
		if !p.Link.Matches(l.name) {
			continue
		}
		for c := range l.conns {
			if c.begun != nil && c.begun.label == p.Label {
				n--
			}
			for _, x := range c.open {
				if !x.fixed && x.label == p.Label && c.live() {
					n--
				}
			}
		}
	}
	return n
}
