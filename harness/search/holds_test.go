package search

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// race is a trial in which two relays claim the same row before either marks
// it; both publish it.
func race() (*tape, scenario.Scenario) {
	h := newTape("app", "relay")
	h.exchange("app.0/postgres", 1, 1, "insert outbox", 1, "", true)
	h.exchange("app.0/postgres", 1, 2, "commit", 1, "commit", false)
	h.exchange("relay.0/postgres", 2, 1, "select outbox idle", 1, "", false)
	h.exchange("relay.0/postgres", 2, 2, "select outbox", 1, "", false)
	h.exchange("relay.1/postgres", 3, 1, "select outbox", 1, "", false)
	h.exchange("relay.0/broker", 4, 1, "publish", 1, "", true)
	h.exchange("relay.1/broker", 5, 1, "publish", 1, "", true)
	h.exchange("relay.0/postgres", 2, 3, "update outbox", 1, "", true)
	h.exchange("relay.1/postgres", 3, 2, "update outbox", 1, "", true)
	s := scenario.Scenario{Target: "two-relays", Replicas: 2, Workload: []scenario.Step{place(1)}}
	return h, s
}

// holds are the texts of what a proposal adds.
func holds(from, s scenario.Scenario) string {
	var list []string
	for _, f := range s.Faults[len(from.Faults):] {
		list = append(list, f.String())
	}
	return strings.Join(list, "; ")
}

func TestHoldsBringBothClaimsBeforeEitherMark(t *testing.T) {
	h, s := race()
	proposals := Holds(h.events, s)
	var got []string
	for _, p := range proposals {
		got = append(got, holds(s, p))
	}
	both := `hold at relay.1/postgres "update outbox" #1 before until relay.0/postgres "select outbox" #1 after; ` +
		`hold at relay.0/postgres "update outbox" #1 before until relay.1/postgres "select outbox" #1 after`
	turned := strings.Join(func() []string { p := strings.Split(both, "; "); slices.Reverse(p); return p }(), "; ")
	at := slices.IndexFunc(got, func(text string) bool { return text == both || text == turned })
	if at != 0 {
		t.Fatalf("proposal %d lets both relays claim first, of\n%s", at, strings.Join(got, "\n"))
	}
	if len(got) > holdsBound {
		t.Errorf("%d proposals", len(got))
	}
	if !strings.Contains(got[0], "relay.0") || !strings.Contains(got[0], "relay.1") {
		t.Errorf("the first proposal is not about the two relays: %s", got[0])
	}
	app := slices.IndexFunc(got, func(text string) bool { return strings.Contains(text, "app.0") })
	if app < 0 || slices.ContainsFunc(got[app:], func(text string) bool { return !strings.Contains(text, "app.0") }) {
		t.Errorf("what is about different roles does not come last:\n%s", strings.Join(got, "\n"))
	}
}

func TestHoldsAreScenarios(t *testing.T) {
	h, s := race()
	kill := faults.Fault{At: point(t, `relay.*/broker "publish" #2 unanswered`), Do: faults.Kill}
	s.Faults = []faults.Fault{kill}
	s.Target = filepath.Join(t.TempDir(), "outbox.yaml")
	proposals := Holds(h.events, s)
	if len(proposals) == 0 {
		t.Fatal("no proposals")
	}
	path := filepath.Join(filepath.Dir(s.Target), "s.yaml")
	seen := map[string]bool{}
	for _, p := range proposals {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", holds(s, p), err)
		}
		if added := len(p.Faults) - 1; !reflect.DeepEqual(p.Faults[0], kill) || added < 1 || added > 2 {
			t.Errorf("not the original with one or two holds: %s", text(t, p))
		}
		for _, f := range p.Faults[1:] {
			if f.Do != faults.Hold || (f.At.Link.Index == faults.Any) != (f.Until.Link.Index == faults.Any) {
				t.Errorf("%s is no hold, or names one replica alone", f)
			}
			shared := f.At.Link.Index == faults.Any
			if f.At.Link.Instance == f.Until.Link.Instance && (!shared || len(p.Faults) > 2) {
				t.Errorf("%s waits for itself", f)
			}
			if f.At.Label == "select outbox" {
				t.Errorf("%s: the label of a claim is not known before its reply", f)
			}
		}
		if err := scenario.Save(path, p); err != nil {
			t.Fatal(err)
		}
		back, err := scenario.Load(path)
		if err != nil || !reflect.DeepEqual(back, p) {
			t.Errorf("saved and read back (%v):\n%s\nis not\n%s", err, text(t, back), text(t, p))
		}
		if seen[text(t, p)] {
			t.Errorf("proposed twice: %s", holds(s, p))
		}
		seen[text(t, p)] = true
	}
	if again := Holds(h.events, s); !reflect.DeepEqual(again, proposals) {
		t.Error("a second time the proposals are others")
	}
}

func TestAHoldWaitsForWhatWasProcessedThoughNobodyHeard(t *testing.T) {
	h, s := race()
	h.wire("relay.0/broker", 4, properties.WireRequest, 9, "publish", 2, "", false)
	h.wire("relay.0/broker", 4, properties.WireAnswered, 9, "publish", 2, "", true)
	h.exchange("relay.1/broker", 5, 2, "publish", 2, "", true)
	want := `hold at relay.1/broker "publish" #2 before until relay.0/broker "publish" #2 unanswered`
	for _, p := range Holds(h.events, s) {
		if holds(s, p) == want {
			return
		}
	}
	t.Errorf("no proposal %s", want)
}

func TestHoldsBeginNearTheViolation(t *testing.T) {
	h, _ := race()
	// The order that is lost is asked for here; what follows is about others.
	h.add(properties.Event{Kind: properties.KindCall, Call: &properties.Call{Op: "place", Order: "o2"}})
	all := matters(h.events)
	places := []int{len(h.events) - 1}
	before := orderings(all, places)
	if got := before[0].then.label; got != "update outbox" {
		t.Errorf("nearest to the end is %q", got)
	}
	if got := focus(h.events, all); !slices.Equal(got, []int{all[len(all)-1].done}) {
		t.Errorf("a history without a violation is about %v", got)
	}
	early := orderings(all, []int{0})
	if a, b := early[0].then.sent, before[0].then.sent; a > b {
		t.Errorf("near the beginning is place %d, near the end place %d", a, b)
	}
}

func TestNothingToHold(t *testing.T) {
	h, s := race()
	s.Segments = []scenario.Segment{{Workload: []scenario.Step{place(2)}}}
	if got := Holds(h.events, s); got != nil {
		t.Errorf("a scenario with segments has %d proposals", len(got))
	}
	s.Segments = nil
	if got := Holds(relay("").events, s); got != nil {
		t.Errorf("one instance alone has %d proposals", len(got))
	}
	// The scenario has a fault at that very moment.
	s.Faults = []faults.Fault{{At: point(t, `relay.1/postgres "update outbox" #1 before`), Do: faults.Cut}}
	for _, p := range Holds(h.events, s) {
		if strings.Contains(holds(s, p), `hold at relay.1/postgres "update outbox" #1 before`) {
			t.Errorf("two faults of one moment: %s", holds(s, p))
		}
	}
}

func TestOfALongHistoryTheNearestCounts(t *testing.T) {
	h, _ := race()
	all := matters(h.events)
	got := nearby(all, []int{all[2].sent}, 3)
	if len(got) != 3 || got[0].sent != all[1].sent || got[2].sent != all[3].sent {
		t.Errorf("around place %d are %v", all[2].sent, got)
	}
}
