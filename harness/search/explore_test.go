package search

import (
	"reflect"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
)

func TestDrawIsTheSameForTheSameSeed(t *testing.T) {
	space := NewSpace(Shape{Target: "polling", Orders: 3, Aborts: true, Overlaps: true}, []Recording{relay("").recording()}, 2, nil)
	different := false
	for i := range 50 {
		one, two := space.Draw(7, i), space.Draw(7, i)
		if !reflect.DeepEqual(one, two) {
			t.Fatalf("scenario %d of seed 7 is once %+v and once %+v", i, one, two)
		}
		if err := one.Validate(); err != nil {
			t.Errorf("scenario %d: %v", i, err)
		}
		different = different || !reflect.DeepEqual(one, space.Draw(8, i))
	}
	if !different {
		t.Error("seeds 7 and 8 draw the same scenarios")
	}
}

func TestDrawKeepsToWhatTheTargetCanDo(t *testing.T) {
	space := NewSpace(Shape{Orders: 3}, []Recording{relay("").recording()}, 1, []faults.Kind{faults.Cut})
	for i := range 200 {
		s := space.Draw(1, i)
		if _, aborted := s.Orders(); len(aborted) > 0 {
			t.Fatalf("scenario %d asks an app to abort that cannot", i)
		}
		if s.Overlaps() {
			t.Fatalf("scenario %d starts a second app that may not run", i)
		}
		if s.Replicas != 1 {
			t.Fatalf("scenario %d starts %d relays", i, s.Replicas)
		}
		for _, f := range s.Faults {
			if f.Do != faults.Cut {
				t.Fatalf("scenario %d has the fault %s", i, f)
			}
		}
	}
}

// TestAnOccurrenceIsOneThatTheOrdersCanReach: the runs do not all place as many
// orders as were asked for.
func TestAnOccurrenceIsOneThatTheOrdersCanReach(t *testing.T) {
	space := NewSpace(Shape{Target: "polling", Orders: 1, Overlaps: true}, []Recording{overlapped(true)}, 1, nil)
	reached := 0
	for i := range 500 {
		s := space.Draw(1, i)
		placed, _ := s.Orders()
		for _, f := range s.Faults {
			if f.At == nil || f.At.Label != "update outbox" {
				continue
			}
			reached++
			if f.At.N > len(placed) {
				t.Fatalf("draw %d strikes %s of %d orders", i, f.At, len(placed))
			}
		}
	}
	if reached == 0 {
		t.Error("no draw strikes what three orders showed three times")
	}
}
