package properties

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTurnsFindStalls(t *testing.T) {
	var turns Turns
	var found []Stall
	for _, now := range []time.Duration{
		time.Hour,                      // the first turn has nothing before it
		time.Hour + StallLeast,         // just in time
		time.Hour + 2*StallLeast + 1,   // too late
		time.Hour + 2*StallLeast + 2,   // again in time
		2 * time.Hour, 2*time.Hour + 1, // too late, and on from there
		2*time.Hour + 1, 2*time.Hour + 1 - 20, // time never runs backwards; if it does, nothing stood still
	} {
		if s, stood := turns.Turn(now); stood {
			found = append(found, s)
		}
	}
	want := []Stall{
		{From: time.Hour + StallLeast, For: StallLeast + 1},
		{From: time.Hour + 2*StallLeast + 2, For: time.Hour - 2*StallLeast - 2},
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

func TestWaited(t *testing.T) {
	stall := func(from, length time.Duration) Stall { return Stall{From: from, For: length} }
	tests := []struct {
		name        string
		stalls      []Stall
		from, until time.Duration
		want        time.Duration
	}{
		{"nothing stood still", nil, 3, 10, 7},
		{"before it", []Stall{stall(0, 2)}, 3, 10, 7},
		{"into its beginning", []Stall{stall(1, 4)}, 3, 10, 5},
		{"in the midst", []Stall{stall(4, 3)}, 3, 10, 3},
		{"twice, in any order", []Stall{stall(6, 2), stall(4, 1)}, 3, 10, 2},
		{"to its end", []Stall{stall(4, 6)}, 3, 10, 0},
		{"past its end", []Stall{stall(4, 60)}, 3, 10, 0},
		{"after it", []Stall{stall(10, 60)}, 3, 10, 7},
		{"backwards", nil, 10, 3, 0},
		{"without end", []Stall{stall(4, math.MaxInt64)}, 3, 10, 0},
		{"for ever", nil, math.MinInt64, math.MaxInt64, math.MaxInt64},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Waited(test.stalls, test.from, test.until); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

// stalled adds a stall of the harness that ends now.
func (b *builder) stalled(length time.Duration) *builder {
	from := b.at
	b.at += length
	return b.add(Event{Kind: KindStall, Stall: &Stall{From: from, For: length}})
}

// stood is a wait for o2, which is missing, of which the harness, or its machine,
// stood still for a time: then it is noted, or only the clock went on.
func stood(noted bool, basis Basis, still, rest time.Duration, change ...func(*Drain)) []Event {
	b := lostBefore()
	b.at += 5 * time.Millisecond
	if noted {
		b.stalled(still)
		b.at -= b.step
	} else {
		b.at += still
	}
	d := &Drain{Basis: basis, Polls: 30, Time: still + rest, Healthy: true, Consumers: true}
	for _, c := range change {
		c(d)
	}
	b.at += rest
	return b.add(Event{Kind: KindDrain, Drain: d}).end()
}

// What the promise gives the target is never spent while the harness stands still.
func TestNothingIsLostByAStall(t *testing.T) {
	few := func(d *Drain) { d.Polls = 1 }
	const minute = time.Minute
	tests := []struct {
		name  string
		given func(noted bool) []Event
		// the verdict with the stall noted; without, each is a loss
		noted Verdict
	}{
		{"the promise ran out in it", func(noted bool) []Event {
			return stood(noted, BasisPromise, minute, 199*time.Millisecond)
		}, UnknownResult},
		{"the promise was spent after it", func(noted bool) []Event {
			return stood(noted, BasisPromise, minute, 200*time.Millisecond)
		}, Fail},
		{"the relay was silent in it", func(noted bool) []Event {
			return stood(noted, BasisPromise, minute, 4999*time.Millisecond, few)
		}, UnknownResult},
		{"the relay was silent after it", func(noted bool) []Event {
			return stood(noted, BasisPromise, minute, 5*time.Second, few)
		}, Fail},
		{"pending was zero in it", func(noted bool) []Event {
			return stood(noted, BasisPendingZero, minute, 19*time.Millisecond)
		}, UnknownResult},
		{"pending was zero after it", func(noted bool) []Event {
			return stood(noted, BasisPendingZero, minute, 20*time.Millisecond)
		}, Fail},
		{"it was found after the wait had ended", func(noted bool) []Event {
			h := stood(false, BasisPromise, minute, minute)
			if !noted {
				return h
			}
			s := &Stall{From: minute, For: 2 * minute}
			i := waitEnd(h)
			return renumbered(append(append(h[:i+1:i+1], Event{At: 3 * minute, Kind: KindStall, Stall: s}), h[i+1:]...))
		}, UnknownResult},
		{"it was over before the order committed", func(noted bool) []Event {
			b := begin("o1", "o2")
			if noted {
				b.stalled(minute)
			}
			return b.place("o1", "o2").relay("o1").apply("o1").drain(BasisPromise).end()
		}, Fail},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if j := Judge(test.given(false)); j.Verdict != Fail {
				t.Fatalf("without the stall: %s, want fail; reasons %q", j.Verdict, reasons(j))
			}
			j := Judge(test.given(true))
			if j.Verdict != test.noted {
				t.Errorf("with the stall: %s, want %s; reasons %q", j.Verdict, test.noted, reasons(j))
			}
			if why := "since the harness last stood still"; has(reasons(j), why) != (test.noted == UnknownResult) {
				t.Errorf("%q among the reasons: %q", why, reasons(j))
			}
		})
	}
}

// waitEnd is where a history's wait for the outbox ends.
func waitEnd(h []Event) int {
	for i, e := range h {
		if e.Kind == KindDrain {
			return i
		}
	}
	return -1
}

// A consumer that had its grace while the harness stood still had none.
func TestNoEffectIsMissedByAStall(t *testing.T) {
	given := func(rest time.Duration) []Event {
		b := begin("o1", "o2").place("o1", "o2").relay("o1", "o2").apply("o1").deliver("o2").effect("kitchen", "o2", 1)
		b.stalled(time.Minute)
		b.at += rest - b.step
		return b.add(Event{Kind: KindDrain, Drain: &Drain{Basis: BasisComplete, Polls: 30, Time: time.Minute + rest, Healthy: true, Consumers: true}}).end()
	}
	for rest, want := range map[time.Duration]Verdict{10 * time.Millisecond: UnknownResult, 20 * time.Millisecond: Fail} {
		if j := Judge(given(rest)); j.Verdict != want {
			t.Errorf("%v after the stall: %s, want %s; reasons %q", rest, j.Verdict, want, reasons(j))
		}
	}
}

func TestAStallIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		stall Stall
		want  string
	}{
		"from before the trial": {Stall{From: -1, For: time.Second}, "before the trial began"},
		"of no length":          {Stall{From: 1}, "of no length"},
		"into the future":       {Stall{From: 1, For: time.Hour}, "had not ended"},
		"without end":           {Stall{From: 1, For: math.MaxInt64}, "had not ended"},
	} {
		t.Run(name, func(t *testing.T) {
			b := complete("o1")
			b.add(Event{Kind: KindStall, Stall: &test.stall})
			j := Judge(b.end())
			if j.Verdict != UnknownResult || !strings.Contains(strings.Join(j.Why, "\n"), test.want) {
				t.Errorf("%s, reasons %q; want %q", j.Verdict, j.Why, test.want)
			}
		})
	}
}
