package properties

import (
	"math"
	"time"
)

// StallLeast is how long the harness may go without a turn of its own on a busy
// machine. Where it had none for longer, neither may the target have had one:
// the machine stood still, or the harness with the proxies between the target and
// its servers.
const StallLeast = 2 * time.Second

// Stall is a time in which the harness, waiting for the outbox, had no turn.
type Stall struct {
	// From is the time of the last turn before it, since the trial began.
	From time.Duration `json:"from_ns"`
	For  time.Duration `json:"for_ns"`
}

// end is when the harness had a turn again. It never wraps around.
func (s Stall) end() time.Duration {
	if s.For > 0 && s.From > math.MaxInt64-s.For {
		return math.MaxInt64
	}
	return s.From + s.For
}

// Turns finds the stalls of one who takes turns. The zero value has had none.
type Turns struct {
	last  time.Duration
	begun bool
}

// Turn takes a turn, at a time since the trial began, and reports whether the
// harness stood still before it.
func (t *Turns) Turn(now time.Duration) (Stall, bool) {
	s := Stall{From: t.last, For: now - t.last}
	stood := t.begun && s.For > StallLeast
	t.last, t.begun = now, true
	return s, stood
}

// Waited is how much of the time from one moment of a trial to another counts
// against the target: a stall ends what was waited until then, and what counts
// begins anew with its end.
func Waited(stalls []Stall, from, until time.Duration) time.Duration {
	for _, s := range stalls {
		if s.From < until {
			from = max(from, s.end())
		}
	}
	switch {
	case until <= from:
		return 0
	case from < 0 && until > math.MaxInt64+from:
		return math.MaxInt64
	}
	return until - from
}
