package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

func point(t *testing.T, text string) *faults.Point {
	t.Helper()
	p, err := faults.ParsePoint(text)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// fired says that a trial's first fault struck.
func (t *tape) fired(f faults.Fault, on string) {
	t.add(properties.Event{Kind: properties.KindFault, Fault: &properties.Fault{What: "fired", On: on, Do: string(f.Do), Text: f.String()}})
}

func after(h *tape, f faults.Fault) Recording {
	rec := h.recording()
	rec.Run.Scenario.Faults = []faults.Fault{f}
	return rec
}

func TestRecoveryStrikesAfterTheFirstFault(t *testing.T) {
	h := relay("")
	f := faults.Fault{At: point(t, `relay.0/broker "publish" #1 before`), Do: faults.Cut}
	h.fired(f, "relay.0/broker")
	h.exchange("relay.0/postgres", 1, 12, "begin", 2, "", false)
	h.exchange("relay.0/postgres", 1, 13, "update outbox", 2, "", true)
	h.exchange("relay.0/postgres", 1, 14, "commit", 2, "commit", false)
	rec := after(h, f)
	cells := Recovery(rec, 10)
	if got := texts(cells); !slices.Equal(got, []string{`kill at relay.0/postgres "update outbox" #2 unanswered`, `kill at relay.0/postgres "commit" #2 unanswered`}) {
		t.Errorf("second faults: %v", got)
	}
	for _, c := range cells {
		if len(c.Scenario.Faults) != 2 || c.Scenario.Faults[0].Do != faults.Cut {
			t.Errorf("%s does not keep the first fault", c)
		}
	}
	if got := Recovery(rec, 1); len(got) != 1 {
		t.Errorf("the bound of 1 gives %d cells", len(got))
	}
}

func TestABrokenConnectionIsBrokenAgain(t *testing.T) {
	for _, do := range []faults.Kind{faults.Cut, faults.Hang} {
		h := relay("")
		f := faults.Fault{At: point(t, `relay.0/broker "publish" #1 unanswered`), Do: do}
		h.fired(f, "relay.0/broker")
		h.exchange("relay.0/postgres", 1, 12, "rollback", 1, "rollback", false)
		h.exchange("relay.0/broker", 5, 1, "connect", 2, "", false)
		h.exchange("relay.0/broker", 5, 2, "publish", 2, "", true)
		h.exchange("relay.0/broker", 5, 3, "publish", 3, "", true)
		got := texts(Recovery(after(h, f), 10))
		want := []string{
			string(do) + ` at relay.0/broker "connect" #2 unanswered`,
			string(do) + ` at relay.0/broker "publish" #2 unanswered`,
			`kill at relay.0/postgres "rollback" #1 unanswered`,
			`kill at relay.0/broker "publish" #2 unanswered`,
			`kill at relay.0/broker "publish" #3 unanswered`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %s:\n%s\nwant:\n%s", f, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got := Recovery(after(h, f), 1); len(got) != 1 {
			t.Errorf("the bound of 1 gives %d cells", len(got))
		}
	}
}

func TestAKilledRelayIsKilledAgainWhicheverReplicaRecovers(t *testing.T) {
	h := relay("")
	h.events[0].Trial.Roles = []string{"app", "relay"}
	h.exchange("relay.1/postgres", 3, 1, "connect", 1, "", false)
	f := faults.Fault{At: point(t, `relay.*/broker "publish" #1 unanswered`), Do: faults.Kill}
	h.fired(f, "relay.0")
	h.exchange("relay.1/postgres", 3, 2, "begin", 1, "", false)
	h.exchange("relay.1/postgres", 3, 3, "select outbox", 1, "", false)
	h.exchange("relay.1/postgres", 3, 4, "update outbox", 1, "", true)
	h.exchange("app.0/postgres", 9, 4, "insert outbox", 1, "", true)
	cells := Recovery(after(h, f), 10)
	want := []string{`kill at relay.*/postgres "select outbox" #2 unanswered`, `kill at relay.*/postgres "update outbox" #2 unanswered`}
	if got := texts(cells); !slices.Equal(got, want) {
		t.Errorf("second faults %v, want %v", got, want)
	}
	for _, c := range cells {
		if err := c.Scenario.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestRecoveryOfNothing(t *testing.T) {
	if got := Recovery(relay("").recording(), 10); len(got) > 0 {
		t.Errorf("no fault gives %v", texts(got))
	}
	f := faults.Fault{At: point(t, `relay.0/broker "publish" #1 unanswered`), Do: faults.Kill}
	if got := Recovery(after(relay(""), f), 10); len(got) > 0 {
		t.Errorf("a fault that did not fire gives %v", texts(got))
	}
	h := relay("")
	h.fired(f, "relay.0")
	h.exchange("relay.0/broker", 2, 3, "publish", 2, "", true)
	if got := Recovery(h.recording(), 10); len(got) > 0 {
		t.Errorf("a fault that the scenario does not have gives %v", texts(got))
	}
}

func TestFirstsAreOneOfEveryKind(t *testing.T) {
	batch := relay("").recording()
	batch.Run = Run{Name: RunBatch, Scenario: scenario.Scenario{Pace: scenario.Batch, Workload: batch.Run.Scenario.Workload}}
	h := relay("")
	h.exchange("relay.0/broker", 2, 3, "publish", 2, "", true)
	stepwise := h.recording()
	stepwise.Run.Name = RunStepwise
	some, _ := Cells(batch, Options{})
	more, _ := Cells(stepwise, Options{})
	cells := append(some, more...)
	Likeliest(cells)
	firsts := Firsts(cells, 0)
	kinds := map[string]bool{}
	for _, c := range firsts {
		if c.Fault.At.N != 1 || c.Run != RunStepwise || len(c.Fault.Drop) > 0 {
			t.Errorf("%s stands for its kind", c)
		}
		if kinds[c.Fault.String()] {
			t.Errorf("%s comes twice", c)
		}
		kinds[c.Fault.String()] = true
	}
	for _, c := range cells {
		f := c.Fault
		f.At = &faults.Point{Link: f.At.Link, Label: f.At.Label, N: 1, Moment: f.At.Moment}
		f.Drop = nil
		if !kinds[f.String()] {
			t.Errorf("no first fault stands for %s", c)
		}
	}
	for _, c := range Publishes(cells) {
		if !kinds[c.Fault.String()] {
			t.Errorf("%s is a first fault by default, and none with more of them", c)
		}
	}
	if got := Firsts(cells, 3); len(got) != 3 || got[0].Rank > got[2].Rank {
		t.Errorf("the bound of 3 gives %v", texts(got))
	}
}
