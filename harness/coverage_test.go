package harness

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

func cellAt(t *testing.T, run, point string, f faults.Fault, first ...faults.Fault) search.Cell {
	t.Helper()
	p, err := faults.ParsePoint(point)
	if err != nil {
		t.Fatal(err)
	}
	f.At = &p
	return search.Cell{Run: run, Fault: f, Scenario: scenario.Scenario{Faults: append(first, f)}}
}

func TestCoverageKeepsTheOrderOfTheRecordedRun(t *testing.T) {
	c := newCoverage()
	recorded := []properties.Event{
		{Wire: &properties.Wire{Link: "relay.1/postgres", Label: "begin", N: 1}},
		{Wire: &properties.Wire{Link: "relay.0/broker", Label: "publish", N: 1}},
		{},
	}
	c.record(search.Recording{Run: search.Run{Name: "batch"}, History: recorded})
	cut := faults.Fault{Do: faults.Cut}
	linger := faults.Fault{Do: faults.Kill, Then: faults.Then{Restart: faults.BackendsLinger}}
	publish := cellAt(t, "batch", `relay.0/broker "publish" #1 after`, cut)
	kill := cellAt(t, "batch", `relay.0/broker "publish" #1 after`, linger)
	begin := cellAt(t, "batch", `relay.*/postgres "begin" #1 before`, cut)
	second := cellAt(t, "batch, after "+publish.Fault.String(), `relay.0/broker "publish" #2 before`, cut, publish.Fault)
	for _, cell := range []search.Cell{second, publish, kill, begin, publish} {
		c.plan(cell)
	}
	left := cellAt(t, "batch", `relay.0/broker "publish" #1 before`, cut)
	c.leave(left.Run, left.Fault, search.ReasonNext)
	c.set(publish, report.Exercised, "")
	c.set(second, report.NotReached, strings.Repeat("ä", 1000))

	got := c.matrix(report.ReasonStopped)
	if long := got[2].Cells[0].Reason; len(long) > 510 || !strings.HasPrefix(long, "ää") {
		t.Errorf("the reason has %d bytes: a matrix stays small", len(long))
	}
	got[2].Cells[0].Reason = ""
	want := []report.Row{
		{Run: "batch", Exchange: `relay.*/postgres "begin" #1`, Cells: []report.Cell{
			{Moment: "before", Fault: "cut", Status: report.NotTried, Reason: report.ReasonStopped},
		}},
		{Run: "batch", Exchange: `relay.0/broker "publish" #1`, Cells: []report.Cell{
			{Moment: "before", Fault: "cut", Status: report.NotApplicable, Reason: search.ReasonNext},
			{Moment: "after", Fault: "cut", Status: report.Exercised},
			{Moment: "after", Fault: "kill, restart while backends linger", Status: report.NotTried, Reason: report.ReasonStopped},
		}},
		{Run: "batch", After: publish.Fault.String(), Exchange: `relay.0/broker "publish" #2`, Cells: []report.Cell{
			{Moment: "before", Fault: "cut", Status: report.NotReached},
		}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if text := got[1].Text(got[1].Cells[2]); text != kill.Fault.String() {
		t.Errorf("a cell reads %q, its fault %q", text, kill.Fault)
	}
}

// What the random scenarios need not aim at: which cells of the sweep had no turn
// for want of time, or were not reached, is another matter in every run.
func TestVisitedIsWhatEveryRunVisits(t *testing.T) {
	c := newCoverage()
	cut := faults.Fault{Do: faults.Cut}
	want := []string{}
	for i, of := range []struct {
		status  report.Status
		reason  string
		visited bool
	}{
		{report.Exercised, "", true},
		{report.Violated, "", true},
		{report.NotApplicable, search.ReasonConvicted, true},
		{report.NotTried, report.ReasonShard, true},
		{report.NotTried, report.ReasonBudget, false},
		{report.NotTried, "", false},
		{report.NotReached, "its time did not come", false},
	} {
		cell := cellAt(t, "batch", fmt.Sprintf(`relay.0/broker "publish" #%d after`, i+1), cut)
		c.plan(cell)
		c.set(cell, of.status, of.reason)
		if of.visited {
			want = append(want, cell.Fault.String())
		}
	}
	left := cellAt(t, "batch", `relay.0/broker "publish" #1 before`, cut)
	c.leave(left.Run, left.Fault, search.ReasonNext)
	second := cellAt(t, "batch, after "+left.Fault.String(), `relay.0/broker "ack" #1 before`, cut, left.Fault)
	c.plan(second)
	c.set(second, report.Exercised, "")
	got := []string{}
	for _, f := range c.visited() {
		got = append(got, f.String())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestThePlanIsOfTheTargetAndTheOptions(t *testing.T) {
	digest := func(vary func(*targets.Target, *Options)) string {
		target, o := reference(t), Options{Orders: 3}
		vary(&target, &o)
		text, err := planDigest(target, o)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	plain := digest(func(*targets.Target, *Options) {})
	if plain != digest(func(_ *targets.Target, o *Options) {
		o.Seed, o.Jobs, o.Faults = 9, 7, []faults.Kind{faults.Cut, faults.Hold, faults.Kill}
	}) {
		t.Error("the plan follows what does not decide the cells")
	}
	for what, vary := range map[string]func(*targets.Target, *Options){
		"orders":   func(_ *targets.Target, o *Options) { o.Orders = 1 },
		"faults":   func(_ *targets.Target, o *Options) { o.Faults = []faults.Kind{faults.Cut} },
		"points":   func(_ *targets.Target, o *Options) { o.Points = "relay" },
		"depth":    func(_ *targets.Target, o *Options) { o.Depth = 2 },
		"manifest": func(t *targets.Target, _ *Options) { t.Relay.Replicas = 5 },
		"schema":   func(t *targets.Target, _ *Options) { t.SchemaSQL = []string{"SELECT 1"} },
	} {
		if plain == digest(vary) {
			t.Errorf("the plan does not follow the %s", what)
		}
	}
}

func TestStatusOfATrial(t *testing.T) {
	fired := []properties.Event{{Fault: &properties.Fault{What: "fired"}}}
	one := scenario.Scenario{Faults: make([]faults.Fault, 1)}
	for _, c := range []struct {
		history []properties.Event
		verdict properties.Verdict
		want    report.Status
		reason  string
	}{
		{fired, properties.Pass, report.Exercised, ""},
		{fired, properties.Fail, report.Violated, ""},
		{fired, properties.UnknownResult, report.Exercised, "so"},
		{nil, properties.Pass, report.NotReached, ""},
		{nil, properties.Fail, report.NotReached, ""},
	} {
		v := visit{scenario: one, history: c.history, judgement: properties.Judgement{Verdict: c.verdict, Why: []string{"so"}}}
		if got, reason := v.status(); got != c.want || reason != c.reason {
			t.Errorf("fired %t, %s: %s %q", v.fired(), c.verdict, got, reason)
		}
	}
}
