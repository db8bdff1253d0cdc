package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// tape writes the history of a run, a wire event a line:
//
//	LINK CONN WHAT EXCHANGE LABEL... #N [=> ended]
type tape struct {
	events []properties.Event
}

func newTape(roles ...string) *tape {
	t := &tape{}
	t.add(properties.Event{Kind: properties.KindTrial, Trial: &properties.Trial{Version: properties.Version, Roles: roles}})
	return t
}

func (t *tape) add(e properties.Event) {
	e.Seq = len(t.events) + 1
	t.events = append(t.events, e)
}

func (t *tape) wire(link string, conn int, what string, exchange int, label string, n int, ended string, write bool) {
	t.add(properties.Event{Kind: properties.KindWire, Wire: &properties.Wire{
		Link: link, Conn: conn, What: what, Exchange: uint64(exchange), Label: label, N: n, Ended: ended, Write: write}})
}

// exchange is a request and its reply at once; the reply's label may tell more.
func (t *tape) exchange(link string, conn, id int, label string, n int, ended string, write bool) {
	asked := strings.TrimSuffix(label, " idle")
	if label == "commit idle" {
		asked = label
	}
	t.wire(link, conn, properties.WireRequest, id, asked, n, "", false)
	t.wire(link, conn, properties.WireReply, id, label, n, ended, write)
}

func (t *tape) recording() Recording {
	return Recording{Run: Run{Name: "tape", Scenario: scenario.Scenario{Workload: []scenario.Step{{Place: &scenario.Order{Order: "o1"}}}}}, History: t.events}
}

// relay is one polling round on the links of relay.0: claim, publish, mark.
func relay(publish string) *tape {
	t := newTape("relay")
	t.exchange("relay.0/postgres", 1, 1, "connect", 1, "", false)
	t.exchange("relay.0/broker", 2, 1, "connect", 1, "", false)
	for i, id := 1, 2; i <= 2; i, id = i+1, id+3 { // two idle polls
		t.exchange("relay.0/postgres", 1, id, "begin", 1, "", false)
		t.exchange("relay.0/postgres", 1, id+1, "select outbox idle", i, "", false)
		t.exchange("relay.0/postgres", 1, id+2, "commit idle", i, "commit", false)
	}
	t.exchange("relay.0/postgres", 1, 8, "begin", 1, "", false)
	t.exchange("relay.0/postgres", 1, 9, "select outbox", 1, "", false)
	if publish == properties.WireOneWay {
		t.wire("relay.0/broker", 2, properties.WireOneWay, 2, "publish", 1, "", false)
	} else {
		t.exchange("relay.0/broker", 2, 2, "publish", 1, "", true)
	}
	t.exchange("relay.0/postgres", 1, 10, "update outbox", 1, "", true)
	t.exchange("relay.0/postgres", 1, 11, "commit", 1, "commit", false)
	return t
}

func texts(cells []Cell) []string {
	var list []string
	for _, c := range cells {
		list = append(list, c.Fault.String())
	}
	return list
}

func TestKillsStandForEveryMomentThatTheServersCanTellApart(t *testing.T) {
	cells, left := Cells(relay("").recording(), Options{Faults: []faults.Kind{faults.Kill}})
	want := []string{
		`kill at relay.0/broker "publish" #1 unanswered`,
		`kill at relay.0/postgres "commit" #1 unanswered`,
		`kill at relay.0/postgres "connect" #1 unanswered`,
		`kill at relay.0/broker "connect" #1 unanswered`,
		`kill at relay.0/postgres "begin" #1 unanswered`,
		`kill at relay.0/postgres "select outbox idle" #1 unanswered`,
		`kill at relay.0/postgres "commit idle" #1 unanswered`,
		`kill at relay.0/postgres "select outbox" #1 unanswered`,
		`kill at relay.0/postgres "update outbox" #1 unanswered`,
		`kill at relay.0/postgres "begin" #1 unanswered, restart while backends linger`,
		`kill at relay.0/postgres "select outbox idle" #1 unanswered, restart while backends linger`,
		`kill at relay.0/postgres "select outbox" #1 unanswered, restart while backends linger`,
		`kill at relay.0/broker "publish" #1 unanswered, restart while backends linger`,
		`kill at relay.0/postgres "update outbox" #1 unanswered, restart while backends linger`,
	}
	got := texts(cells)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("cells:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if first := cells[0].Fault.String(); first != `kill at relay.0/broker "publish" #1 unanswered` {
		t.Errorf("the first cell is %s: between an effect on one server and the next on the other comes first", first)
	}
	if n := Count(left); len(n) != 2 || n[0].Reason != ReasonIdle || n[1].Reason != ReasonEquivalent {
		t.Errorf("left out: %v", n)
	}
}

func TestOnlyTheReplyTellsAClaim(t *testing.T) {
	cells, _ := Cells(relay("").recording(), Options{Faults: []faults.Kind{faults.Cut}})
	for _, c := range cells {
		if c.Fault.At.Label == "select outbox" && c.Fault.At.Moment == faults.Before {
			t.Errorf("%s: the label of a claim is not known before its reply", c)
		}
	}
	for _, m := range []faults.Moment{faults.Before, faults.Unanswered, faults.After} {
		if want := fmt.Sprintf(`cut at relay.0/postgres "commit" #1 %s`, m); !slices.Contains(texts(cells), want) {
			t.Errorf("no cell %s", want)
		}
	}
}

func TestABreakInsideATransactionIsSeenAtTheNextRequest(t *testing.T) {
	cells, left := Cells(relay("").recording(), Options{Faults: []faults.Kind{faults.Cut}})
	for _, c := range cells {
		if c.Fault.At.Label == "update outbox" && c.Fault.At.Moment == faults.After {
			t.Errorf("%s: the commit that follows finds out", c)
		}
	}
	if !slices.ContainsFunc(Count(left), func(l LeftOut) bool { return l.Reason == ReasonNext && l.Cells == 4 }) {
		t.Errorf("left out: %v, want four cells because of the next request", Count(left))
	}
}

func TestMessagesInFlightAreDropped(t *testing.T) {
	cells, _ := Cells(relay(properties.WireOneWay).recording(), Options{Faults: []faults.Kind{faults.Kill}})
	want := `kill at relay.0/postgres "commit" #1 unanswered, dropping relay.0/broker "publish" #1`
	if !slices.Contains(texts(cells), want) {
		t.Errorf("no cell %s in\n%s", want, strings.Join(texts(cells), "\n"))
	}
	// An answered publish has arrived: there is nothing to drop.
	cells, _ = Cells(relay("").recording(), Options{Faults: []faults.Kind{faults.Kill}})
	for _, text := range texts(cells) {
		if strings.Contains(text, "dropping") {
			t.Errorf("%s: the publish was answered before", text)
		}
	}
}

func TestReplicasShareTheirPoints(t *testing.T) {
	h := relay("")
	h.exchange("relay.1/postgres", 3, 1, "connect", 1, "", false)
	h.exchange("relay.1/postgres", 3, 2, "begin", 1, "", false)
	h.exchange("relay.1/postgres", 3, 3, "update outbox", 1, "", true)
	cells, _ := Cells(h.recording(), Options{Faults: []faults.Kind{faults.Cut}})
	seen := map[string]int{}
	for _, c := range cells {
		if c.Fault.At.Link.Role == "relay" && c.Fault.At.Link.Index != faults.Any {
			t.Errorf("%s names one replica", c)
		}
		seen[c.Fault.String()]++
	}
	if n := seen[`cut at relay.*/postgres "update outbox" #1 before`]; n != 1 {
		t.Errorf("the shared point has %d cells", n)
	}
}

func TestRolesOfTheHarnessAreNotSwept(t *testing.T) {
	h := newTape("app", "relay")
	h.exchange("consumer.0/postgres", 1, 1, "insert effects", 1, "commit", true)
	if cells, left := Cells(h.recording(), Options{}); len(cells) > 0 || len(left) > 0 {
		t.Errorf("cells %v, left out %v", cells, left)
	}
}

func TestEverythingVisitsWhatTheRulesLeaveOut(t *testing.T) {
	rec := relay("").recording()
	some, left := Cells(rec, Options{})
	all, none := Cells(rec, Options{Everything: true})
	if len(none) != 0 || len(all) != len(some)+len(left) {
		t.Errorf("%d cells and %d left out, but everything is %d cells", len(some), len(left), len(all))
	}
	visited := texts(all)
	for _, l := range left {
		if l.Run != "tape" || !slices.Contains(visited, l.Fault.String()) {
			t.Errorf("left out is %s of the run %q, which is no cell of everything", l.Fault, l.Run)
		}
		if slices.Contains(texts(some), l.Fault.String()) {
			t.Errorf("%s is visited and left out", l.Fault)
		}
	}
}

func TestPointsNarrowWhatIsLeftOutToo(t *testing.T) {
	cells, left := Cells(relay("").recording(), Options{Points: "relay.0/broker"})
	if len(cells) == 0 || len(left) == 0 {
		t.Fatalf("%d cells and %d left out", len(cells), len(left))
	}
	for _, o := range left {
		if o.Fault.At.Link.Server != faults.Broker {
			t.Errorf("%s was not asked for", o.Fault)
		}
	}
}
