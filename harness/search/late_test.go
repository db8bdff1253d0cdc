package search

import (
	"reflect"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// overlapped is an overlap run: the harness itself plays the app, and lets the
// commit of app.0 pass when the relay has done with app.1's order.
func overlapped(lateCommits bool) Recording {
	t := newTape("relay")
	place := func(order, app string) {
		t.add(properties.Event{Kind: properties.KindCall, Call: &properties.Call{Op: "place", Order: order, Instance: app}})
	}
	id := 0
	exchange := func(link string, conn int, label string, n int) {
		id++
		t.exchange(link, conn, id, label, n, "", true)
	}
	place("o1", "app.0")
	exchange("app.0/postgres", 1, "insert orders", 1)
	exchange("app.0/postgres", 1, "commit", 1)
	exchange("relay.0/postgres", 2, "update outbox", 1)
	place("o2", "app.0")
	exchange("app.0/postgres", 1, "insert orders", 2)
	if !lateCommits {
		exchange("relay.0/postgres", 2, "update outbox", 2)
		return overlapRecording(t)
	}
	place("o3", "app.1")
	exchange("app.1/postgres", 3, "commit", 1)
	exchange("relay.0/postgres", 2, "select outbox idle", 1)
	exchange("relay.0/postgres", 2, "begin", 2)
	exchange("relay.0/postgres", 2, "update outbox", 2)
	exchange("relay.0/broker", 4, "publish", 2)
	exchange("relay.0/postgres", 2, "commit", 2)
	exchange("app.0/postgres", 1, "commit", 2)
	exchange("relay.0/postgres", 2, "update outbox", 3)
	return overlapRecording(t)
}

func overlapRecording(t *tape) Recording {
	rec := t.recording()
	for _, run := range Runs(Shape{Orders: 1, Overlaps: true, Relays: 1}) {
		if run.Name == RunOverlap {
			rec.Run = run
		}
	}
	return rec
}

func TestALateCommitLandsBeforeEachStatementOfTheRelay(t *testing.T) {
	hold := Options{Faults: []faults.Kind{faults.Hold}}
	cells, _ := Cells(overlapped(true), hold)
	want := []string{
		`overlap: hold at relay.0/postgres "update outbox" #2 before until app.0/postgres "commit" #2 after`,
		`overlap: hold at relay.0/postgres "commit" #2 before until app.0/postgres "commit" #2 after`,
	}
	got := make([]string, 0, len(cells))
	for _, c := range cells {
		got = append(got, c.String())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("cells:\n%q\nwant:\n%q", got, want)
	}
	for _, c := range cells {
		if err := c.Scenario.Validate(); err != nil || c.Segment != nil || !c.Scenario.Overlaps() {
			t.Errorf("%s: %v, segment %v", c, err, c.Segment)
		}
	}
	if got := Firsts(cells, 0); len(got) > 0 {
		t.Errorf("a hold leaves nothing to recover from, and is taken for a first fault: %v", got)
	}
	if cells, _ := Cells(overlapped(false), hold); len(cells) > 0 {
		t.Errorf("nothing commits late, and there is %v", cells)
	}
	stepwise := overlapped(true)
	stepwise.Run = Run{RunStepwise, scenario.Scenario{Workload: workload(Shape{Orders: 3})}}
	if cells, _ := Cells(stepwise, hold); len(cells) > 0 {
		t.Errorf("no transactions overlap, and there is %v", cells)
	}
}
