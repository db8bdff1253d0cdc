package search

import (
	"reflect"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// timed is a recorded run whose workload begins after 20 ms, between exchanges
// from 5 ms to 80 ms.
func timed() Recording {
	h := newTape("app", "relay")
	h.exchange("relay.0/postgres", 1, 1, "connect", 1, "", false)
	h.exchange("relay.1/broker", 2, 1, "connect", 1, "", false)
	h.add(properties.Event{Kind: properties.KindCall, Call: &properties.Call{Op: "place", Order: "o1"}})
	h.exchange("app.0/postgres", 3, 1, "commit", 1, "commit", true)
	h.exchange("relay.1/broker", 2, 2, "publish", 1, "", true)
	h.exchange("relay.0/postgres", 1, 2, "update outbox", 1, "", true)
	h.add(properties.Event{Kind: properties.KindEnd})
	for i := range h.events {
		h.events[i].At = time.Duration(5*i) * time.Millisecond
	}
	h.events[len(h.events)-1].At = time.Second
	rec := h.recording()
	rec.Run = Run{Name: RunStepwise, Scenario: scenario.Scenario{Target: "polling", Workload: []scenario.Step{place(1)}}}
	return rec
}

func TestRandomMomentsAreAllMomentsOfTheStepwiseRun(t *testing.T) {
	other := relay("").recording()
	other.Run.Name = RunBatch
	s := NewSpace(Shape{Target: "polling", Orders: 1}, []Recording{other, timed()}, 2, nil)
	found := map[string]int{}
	for i := range 600 {
		one := s.RandomMoment(4, i)
		if len(one.Faults) != 1 || !reflect.DeepEqual(one.Workload, timed().Run.Scenario.Workload) {
			t.Fatalf("draw %d is %+v", i, one)
		}
		if err := one.Validate(); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(one, s.RandomMoment(4, i)) {
			t.Fatalf("draw %d of seed 4 is another one the second time", i)
		}
		found[one.Faults[0].String()]++
	}
	// Five exchanges, three moments, two kinds: twenty of each are expected.
	if len(found) != 30 {
		t.Errorf("600 draws strike %d of 30 cells", len(found))
	}
	for text, n := range found {
		if n < 5 || n > 45 {
			t.Errorf("%s is drawn %d times of 600", text, n)
		}
	}
	if found[`cut at relay.*/broker "publish" #1 unanswered`] == 0 {
		t.Errorf("replicas do not share their points: %v", found)
	}
}

func TestRandomTimesLieBetweenTheExchanges(t *testing.T) {
	s := NewSpace(Shape{Target: "polling", Orders: 1}, []Recording{timed()}, 2, []faults.Kind{faults.Kill, faults.Cut, faults.Hang, faults.Hold})
	if s.last != 30*time.Millisecond {
		t.Errorf("the workload took %v", s.last)
	}
	on := map[string]int{}
	early, late := time.Hour, time.Duration(0)
	for i := range 600 {
		one := s.RandomClock(4, i)
		if err := one.Validate(); err != nil || len(one.Faults) != 1 {
			t.Fatalf("draw %d: %+v: %v", i, one, err)
		}
		if !reflect.DeepEqual(one, s.RandomClock(4, i)) {
			t.Fatalf("draw %d of seed 4 is another one the second time", i)
		}
		f := one.Faults[0]
		early, late = min(early, f.Clock), max(late, f.Clock)
		f.Clock = 0
		on[f.String()]++
	}
	// The workload begins at 25 ms and the last exchange ends at 55 ms.
	if early > time.Millisecond || late < 29*time.Millisecond || late > 30*time.Millisecond {
		t.Errorf("the times lie between %v and %v", early, late)
	}
	// Three instances, and twice three links.
	if len(on) != 9 {
		t.Errorf("struck are %v", on)
	}
	for text, n := range on {
		if n < 30 || n > 110 {
			t.Errorf("%s is drawn %d times of 600", text, n)
		}
	}
}

func TestNothingRecordedGivesNoFault(t *testing.T) {
	s := NewSpace(Shape{}, nil, 1, nil)
	if !s.Empty() || len(s.RandomClock(1, 1).Faults)+len(s.RandomMoment(1, 1).Faults) > 0 {
		t.Error("faults are drawn from nothing")
	}
}
