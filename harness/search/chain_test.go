package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// twoSteps is a stepwise run of two orders; the app connects with the first.
func twoSteps() Recording {
	t := newTape("app", "relay")
	call := func(order string) {
		t.add(properties.Event{Kind: properties.KindCall, Call: &properties.Call{Op: "place", Order: order, Instance: "app.0"}})
	}
	relay := func(id, n int) {
		t.exchange("relay.0/postgres", 1, id, "begin", n, "", false)
		t.exchange("relay.0/postgres", 1, id+1, "select outbox", n, "", false)
		t.exchange("relay.0/broker", 2, id, "publish", n, "", true)
		t.exchange("relay.0/postgres", 1, id+2, "commit", n, "commit", false)
	}
	call("o1")
	t.exchange("app.0/postgres", 3, 1, "connect", 1, "", false)
	t.exchange("app.0/postgres", 3, 2, "insert outbox", 1, "commit", true)
	relay(1, 1)
	call("o2")
	t.exchange("app.0/postgres", 3, 3, "insert outbox", 2, "commit", true)
	relay(10, 2)
	return Recording{Run: Run{Name: "stepwise", Scenario: scenario.Scenario{Target: "t", Workload: []scenario.Step{place(1), place(2)}}}, History: t.events}
}

func TestSegmentsCountFromTheirStep(t *testing.T) {
	cells, _ := Cells(twoSteps(), Options{})
	chainable := map[string]string{}
	for _, c := range cells {
		if c.Segment != nil {
			chainable[c.Fault.String()] = c.Segment.Faults[0].String()
			if got := c.Segment.Workload; len(got) != 1 || got[0].Place.Order != "o2" {
				t.Errorf("%s: the workload is %v", c, got)
			}
		}
	}
	for was, is := range map[string]string{
		`kill at relay.0/broker "publish" #2 unanswered`:        `kill at relay.0/broker "publish" #1 unanswered`,
		`cut at app.0/postgres "insert outbox" #2 before`:       `cut at app.0/postgres "insert outbox" #1 before`,
		`cut at relay.0/postgres "select outbox" #2 unanswered`: `cut at relay.0/postgres "select outbox" #1 unanswered`,
	} {
		if chainable[was] != is {
			t.Errorf("%s: the chain has %q, want %q", was, chainable[was], is)
		}
	}
	for was := range chainable {
		if strings.Contains(was, "#1") || strings.Contains(was, `"begin"`) || strings.Contains(was, `"connect"`) {
			t.Errorf("%s is in a chain: what comes first, and what sets up, is visited when everything is new", was)
		}
	}
}

func TestWhatIsUnderWayAtACallIsVisitedAlone(t *testing.T) {
	rec := twoSteps()
	at := slices.IndexFunc(rec.History, func(e properties.Event) bool { return e.Call != nil && e.Call.Order == "o2" })
	// The first order's publish gets its reply only after the second call.
	publish := slices.IndexFunc(rec.History, func(e properties.Event) bool {
		return e.Wire != nil && e.Wire.Label == "publish" && e.Wire.What == properties.WireReply
	})
	reply := rec.History[publish]
	rec.History = slices.Insert(slices.Delete(rec.History, publish, publish+1), at, reply)
	cells, _ := Cells(rec, Options{Points: "publish"})
	for _, c := range cells {
		if c.Segment != nil {
			t.Errorf("%s is in a chain, and cannot be counted from its call", c)
		}
	}
}

func TestChainGivesEveryCellASegment(t *testing.T) {
	cells, _ := Cells(twoSteps(), Options{Points: `#2`})
	cells = slices.DeleteFunc(cells, func(c Cell) bool { return c.Segment == nil })
	links := Chain(cells)
	if err := links.Scenario.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(links.Cells) != len(links.Scenario.Segments) {
		t.Fatalf("%d segments, told of %d", len(links.Scenario.Segments), len(links.Cells))
	}
	for i, s := range links.Scenario.Segments {
		cell := links.Cells[i]
		if cell < 0 {
			if len(s.Faults) > 0 {
				t.Errorf("segment %d is in peace and has %v", i+1, s.Faults)
			}
			continue
		}
		if s.Faults[0].String() != cells[cell].Segment.Faults[0].String() {
			t.Errorf("segment %d has %v, its cell is %s", i+1, s.Faults, cells[cell])
		}
		broken := cells[cell].Fault.Do != faults.Kill && cells[cell].Fault.At.Moment == faults.After
		if broken && links.Cells[i+1] >= 0 {
			t.Errorf("%s: the client learns of it at the next order, which belongs to another cell", cells[cell])
		}
	}
	if links.Cells[len(links.Cells)-1] >= 0 {
		t.Error("no order comes after the last cell")
	}
	placed, _ := links.Scenario.Orders()
	for _, token := range placed {
		if was := links.Orders[token]; was != "o1" && was != "o2" {
			t.Errorf("%s repeats %q", token, was)
		}
	}
	b := links.Baseline(&properties.Baseline{Events: map[string]int{"o1": 1, "o2": 2}})
	if len(b.Events) != len(placed) {
		t.Errorf("the baseline is of %d orders, the chain has %d", len(b.Events), len(placed))
	}
}
