package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// strike adds the firing of a fault.
func (t *tape) strike(i int, f faults.Fault) {
	t.add(properties.Event{Kind: properties.KindFault, Fault: &properties.Fault{Index: i, What: "fired", Text: f.String(), Do: string(f.Do)}})
}

// twoConsumers is a trial whose process has two consumers, each on a connection of
// its own, that record an event and then apply it. It is killed when one has
// applied it and the other has not.
func twoConsumers(t *testing.T) (*tape, scenario.Scenario) {
	h := newTape("app", "consumer")
	for conn := 2; conn <= 3; conn++ {
		h.exchange("consumer.0/postgres", conn, 1, "connect", conn-1, "", false)
		h.exchange("consumer.0/postgres", conn, 2, "begin", conn-1, "", false)
	}
	h.exchange("consumer.0/postgres", 3, 3, "insert seen", 1, "", true)
	h.exchange("consumer.0/postgres", 2, 3, "insert seen", 2, "", true)
	h.exchange("consumer.0/postgres", 3, 4, "commit", 1, "commit", false)
	h.exchange("consumer.0/postgres", 2, 4, "commit", 2, "commit", false)
	h.wire("consumer.0/postgres", 3, properties.WireRequest, 5, "insert effects", 1, "", false)
	h.wire("consumer.0/postgres", 3, properties.WireAnswered, 5, "insert effects", 1, "commit", true)
	kill := faults.Fault{At: point(t, `consumer.0/postgres "insert effects" #1 unanswered`), Do: faults.Kill}
	h.strike(0, kill)
	h.wire("consumer.0/postgres", 3, properties.WireDropped, 5, "insert effects", 1, "", false)
	s := scenario.Scenario{Target: "two-consumers", Workload: []scenario.Step{place(1)}, Faults: []faults.Fault{kill}}
	return h, s
}

func TestPinsKeepWhereTheOtherConnectionWas(t *testing.T) {
	h, s := twoConsumers(t)
	got := faults.FormatFaults(likeliest(t, h, s).Faults)
	want := `kill at consumer.0/postgres "insert effects" #1 unanswered, dropping consumer.0/postgres "insert effects" #2; then ` +
		`hold at consumer.0/postgres "insert effects" #1 before until consumer.0/postgres "commit" #2 after`
	if got != want {
		t.Errorf("first comes\n%s, want\n%s", got, want)
	}
}

// A fault at the moment before leaves no room for a hold there: what was ahead of
// it on its connection waits.
func TestPinsHoldWhatIsAheadOfTheFault(t *testing.T) {
	h, s := twoConsumers(t)
	h.events = h.events[:len(h.events)-3]
	h.wire("consumer.0/postgres", 3, properties.WireHeld, 5, "insert effects", 1, "", false)
	s.Faults[0].At.Moment = faults.Before
	h.strike(0, s.Faults[0])
	got := holdsOf(likeliest(t, h, s))
	want := []string{`hold at consumer.0/postgres "commit" #1 before until consumer.0/postgres "commit" #2 after`}
	if !slices.Equal(got, want) {
		t.Errorf("held is %v, want %v", got, want)
	}
}

// What another instance did later waits for the fault, and what it had done comes
// first.
func TestPinsReachOtherInstances(t *testing.T) {
	h, s := race()
	kill := faults.Fault{At: point(t, `relay.0/broker "publish" #1 after`), Do: faults.Kill}
	s.Faults = []faults.Fault{kill}
	i := slices.IndexFunc(h.events, func(e properties.Event) bool {
		return e.Wire != nil && e.Wire.Link == "relay.1/broker"
	})
	fired := properties.Event{Kind: properties.KindFault, Fault: &properties.Fault{What: "fired", Text: kill.String()}}
	h.events = slices.Insert(h.events, i, fired)
	want := []string{
		`hold at relay.0/broker "publish" #1 before until relay.1/postgres "select outbox" #1 after`,
		`hold at relay.1/postgres "update outbox" #1 before until relay.0/broker "publish" #1 after`,
	}
	if !slices.ContainsFunc(Holds(h.events, s), func(p scenario.Scenario) bool {
		got := holdsOf(p)
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(got, w) })
	}) {
		t.Errorf("no proposal holds %v:\n%s", want, proposed(h, s))
	}
}

// A time on the clock strikes elsewhere every time: no proposal has one.
func TestPinsLeaveTheClockOut(t *testing.T) {
	h, s := twoConsumers(t)
	clock := faults.Fault{Clock: 2, Do: faults.Cut, On: faults.Link{Instance: faults.Instance{Role: "consumer"}, Server: faults.Postgres}}
	s.Faults = append(s.Faults, clock)
	h.events = slices.Insert(h.events, 4, properties.Event{Kind: properties.KindFault, Fault: &properties.Fault{Index: 1, What: "fired", Text: clock.String()}})
	list := Holds(h.events, s)
	if len(list) == 0 || len(list) > pinsBound+slowMost {
		t.Fatalf("%d proposals", len(list))
	}
	for _, p := range list {
		if onTheClock(p) {
			t.Errorf("a time on the clock is left: %s", faults.FormatFaults(p.Faults))
		}
	}
}

// An app that gave up on a reply gives up on it again when the reply is late.
func TestAReplyThatWasLateIsLateAgain(t *testing.T) {
	h := newTape("app")
	h.exchange("app.0/postgres", 1, 1, "begin", 1, "", false)
	h.exchange("app.0/postgres", 1, 2, "insert orders", 1, "", true)
	h.exchange("app.0/broker", 2, 1, "connect", 1, "", false)
	h.wire("app.0/postgres", 1, properties.WireRequest, 3, "rollback", 1, "", false)
	h.exchange("app.0/broker", 2, 2, "publish", 1, "", true)
	h.wire("app.0/postgres", 1, properties.WireReply, 3, "rollback", 1, "rollback", false)
	s := scenario.Scenario{Target: "timer", Workload: []scenario.Step{place(1)}}
	s.Faults = []faults.Fault{{At: point(t, `app.0/postgres "commit" #9 before`), Do: faults.Cut}} // it never came
	var got []string
	for _, p := range Holds(h.events, s) {
		got = append(got, faults.FormatFaults(p.Faults))
	}
	if want := []string{`hang at app.0/broker "publish" #1 unanswered`}; !slices.Equal(got, want) {
		t.Errorf("proposed is %q, want %q", got, want)
	}
}

// likeliest is the first of the proposals.
func likeliest(t *testing.T, h *tape, s scenario.Scenario) scenario.Scenario {
	t.Helper()
	list := Holds(h.events, s)
	if len(list) == 0 {
		t.Fatal("nothing is proposed")
	}
	return list[0]
}

// holdsOf are the texts of a scenario's holds.
func holdsOf(s scenario.Scenario) (list []string) {
	for _, f := range s.Faults {
		if f.Do == faults.Hold {
			list = append(list, f.String())
		}
	}
	return list
}

func proposed(h *tape, s scenario.Scenario) string {
	var list []string
	for _, p := range Holds(h.events, s) {
		list = append(list, faults.FormatFaults(p.Faults))
	}
	return strings.Join(list, "\n")
}
