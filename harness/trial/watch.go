package trial

import (
	"time"

	"github.com/outboxtest/outboxtest/properties"
)

// mostStalls is how often the harness may stand still in one wait. On a machine
// that gives it no turn more often there is nothing to learn.
const mostStalls = 30

// watch is the clock of one wait for the outbox. It is read once in each turn of
// the wait, so that nothing that holds up a turn counts as waited, and what a stall
// of the harness took does not count at all: its clock went on, and the target may
// have stood still.
type watch struct {
	rec    *recorder
	turns  properties.Turns
	stalls []properties.Stall
	begin  time.Time
	now    time.Time // of this turn
	// whole is since when everything has been healthy, and the harness has had
	// its turns; wholePolls is how many polls had been made by then.
	whole      time.Time
	wholePolls int
}

func newWatch(rec *recorder) watch {
	w := watch{rec: rec}
	w.tick()
	w.begin, w.whole, w.wholePolls = w.now, w.now, rec.tally().idle
	return w
}

// tick takes a turn, and reports whether the harness stood still before it.
func (w *watch) tick() (stood bool) {
	w.now = w.rec.clock()
	stall, stood := w.turns.Turn(w.now.Sub(w.rec.start))
	if stood {
		w.stalls = append(w.stalls, stall)
		w.rec.add(properties.Event{Kind: properties.KindStall, Stall: &stall})
	}
	return stood
}

// turn begins a turn of the wait. What is promised is counted anew where
// something was not healthy or the harness stood still.
func (w *watch) turn(healedAt time.Time, healthy bool) {
	if stood := w.tick(); stood || !healthy || healedAt.After(w.whole) {
		w.whole, w.wholePolls = w.now, w.rec.tally().idle
	}
}

// late reports whether the harness has stood still in this turn, so that what the
// turn came to is not to be trusted.
func (w *watch) late() bool {
	return !w.hopeless() && w.rec.clock().Sub(w.now) > properties.StallLeast
}

// hopeless reports whether the harness stands still again and again.
func (w *watch) hopeless() bool { return len(w.stalls) > mostStalls }

// since is how much of the time since then had been waited when the turn began.
func (w *watch) since(then time.Time) time.Duration {
	return properties.Waited(w.stalls, then.Sub(w.rec.start), w.now.Sub(w.rec.start))
}

// waited is how long everything has been healthy, and polls how many polls the
// relays have made since then.
func (w *watch) waited() time.Duration { return w.since(w.whole) }
func (w *watch) polls() int            { return w.rec.tally().idle - w.wholePolls }

// past reports whether the wait has come to its limit.
func (w *watch) past(limit time.Duration) bool { return w.hopeless() || w.taken() > limit }

// taken is how long the wait has taken, without the stalls.
func (w *watch) taken() time.Duration {
	taken := w.now.Sub(w.begin)
	for _, s := range w.stalls {
		taken -= s.For
	}
	return taken
}
