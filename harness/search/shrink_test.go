package search

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

const tangle = `version: 1
target: polling
pace: batch
replicas: 3
workload:
  - place: {order: o1, customer: c1}
  - overlap: [{order: o2}, {order: o3}]
  - abort: {order: x1}
  - place: {order: o4, customer: c2}
faults:
  - at: relay.*/broker "publish" #3 unanswered
    do: kill
    drop: [relay.*/postgres "update outbox" #3 before, relay.*/postgres "commit" #3 before]
    then: {restart: while backends linger}
  - {at: relay.2/postgres "update outbox" #2 before, do: hang}
  - at: clock 5ms
    do: kill relay.1
`

func parsed(t *testing.T, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// has reports whether a fault of the scenario reads so.
func has(s scenario.Scenario, parts ...string) bool {
	return slices.ContainsFunc(s.AllFaults(), func(f faults.Fault) bool {
		for _, p := range parts {
			if !strings.Contains(f.String(), p) {
				return false
			}
		}
		return true
	})
}

func orders(s scenario.Scenario) int {
	placed, _ := s.Orders()
	return len(placed)
}

func TestShrink(t *testing.T) {
	const head = "version: 1\ntarget: polling\n"
	for _, c := range []struct {
		name  string
		fails func(s scenario.Scenario) bool
		want  string
		calls int
	}{
		{"always", func(s scenario.Scenario) bool { return true },
			head + "replicas: 1\nworkload: [{place: {order: o1, customer: c1}}]\n", 10},
		{"one kill", func(s scenario.Scenario) bool { return has(s, "kill", "publish") },
			head + "replicas: 1\nworkload: [{place: {order: o1, customer: c1}}]\nfaults: [{at: relay.0/broker \"publish\" #1 unanswered, do: kill}]\n", 16},
		{"a hang that may be a cut", func(s scenario.Scenario) bool { return has(s, "update outbox", "before") && !has(s, "kill at relay.*") },
			head + "replicas: 1\nworkload: [{place: {order: o1, customer: c1}}]\nfaults: [{at: relay.0/postgres \"update outbox\" #1 before, do: cut}]\n", 16},
		{"a lingering backend", func(s scenario.Scenario) bool { return has(s, "linger") },
			head + "replicas: 1\nworkload: [{place: {order: o1, customer: c1}}]\nfaults: [{at: relay.0/broker \"publish\" #1 unanswered, do: kill, then: {restart: while backends linger}}]\n", 20},
		{"a lost message", func(s scenario.Scenario) bool { return has(s, "dropping", "commit") },
			head + "replicas: 1\nworkload: [{place: {order: o1, customer: c1}}]\nfaults: [{at: relay.0/broker \"publish\" #1 unanswered, do: kill, drop: [relay.0/postgres \"commit\" #1 before]}]\n", 24},
		{"two orders", func(s scenario.Scenario) bool { return orders(s) >= 2 },
			head + "replicas: 1\nworkload: [{place: {order: o1, customer: c1}}, {place: {order: o2}}]\n", 16},
		{"an overlap", func(s scenario.Scenario) bool { return s.Overlaps() },
			head + "replicas: 1\nworkload: [{overlap: [{order: o2}, {order: o3}]}]\n", 16},
		{"two orders that need not overlap", func(s scenario.Scenario) bool {
			placed, _ := s.Orders()
			return slices.Contains(placed, "o2") && slices.Contains(placed, "o3")
		}, head + "replicas: 1\nworkload: [{place: {order: o2}}, {place: {order: o3}}]\n", 16},
		{"an aborted order", func(s scenario.Scenario) bool { _, aborted := s.Orders(); return len(aborted) == 1 },
			head + "replicas: 1\nworkload: [{abort: {order: x1}}]\n", 16},
		{"two relays", func(s scenario.Scenario) bool { return s.Replicas >= 2 && has(s, "update outbox", "before") },
			head + "replicas: 2\nworkload: [{place: {order: o1, customer: c1}}]\nfaults: [{at: relay.0/postgres \"update outbox\" #1 before, do: cut}]\n", 20},
		{"a batch", func(s scenario.Scenario) bool { return s.Pace == scenario.Batch },
			head + "pace: batch\nreplicas: 1\nworkload: [{place: {order: o1, customer: c1}}]\n", 16},
		{"two faults", func(s scenario.Scenario) bool { return has(s, "kill", "publish") && has(s, "update outbox", "before") },
			head + "replicas: 1\nworkload: [{place: {order: o1, customer: c1}}]\nfaults: [{at: relay.0/broker \"publish\" #1 unanswered, do: kill}, {at: relay.0/postgres \"update outbox\" #1 before, do: cut}]\n", 28},
		{"the last order's publish", func(s scenario.Scenario) bool {
			return len(s.Faults) > 0 && s.Faults[0].At != nil && s.Faults[0].At.Label == "publish" && s.Faults[0].At.N+1 == orders(s)
		}, head + "replicas: 1\nworkload: [{place: {order: o1, customer: c1}}, {place: {order: o2}}]\nfaults: [{at: relay.0/broker \"publish\" #1 unanswered, do: kill}]\n", 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			given := parsed(t, tangle)
			oracle := func(_ context.Context, s scenario.Scenario) (bool, error) {
				if err := s.Validate(); err != nil {
					t.Errorf("the oracle is asked about %+v: %v", s, err)
				}
				return c.fails(s), nil
			}
			got, err := Shrink(t.Context(), given, oracle, ShrinkOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if want := parsed(t, c.want); !reflect.DeepEqual(got.Scenario, want) {
				t.Errorf("shrunk to\n%s\nwant\n%s", text(t, got.Scenario), text(t, want))
			}
			if !got.Complete || got.Calls > c.calls || got.Calls == 0 {
				t.Errorf("%d calls (complete: %t), want at most %d", got.Calls, got.Complete, c.calls)
			}
			if !reflect.DeepEqual(given, parsed(t, tangle)) {
				t.Errorf("the scenario that was given is changed:\n%s", text(t, given))
			}
			again, err := Shrink(t.Context(), given, oracle, ShrinkOptions{})
			if err != nil || !reflect.DeepEqual(got, again) {
				t.Errorf("a second time (%v) it is %+v", err, again)
			}
		})
	}
}

func text(t *testing.T, s scenario.Scenario) string {
	t.Helper()
	data, err := scenario.Format(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestShrinkTakesNothingThatDoesNotFail(t *testing.T) {
	space := NewSpace(Shape{Target: "polling", Orders: 3, Aborts: true, Overlaps: true}, []Recording{relay("").recording()}, 3, []faults.Kind{faults.Kill, faults.Cut, faults.Hang})
	for i := range 40 {
		given := space.Draw(3, i)
		// An arbitrary rule that the given scenario breaks.
		fails := func(s scenario.Scenario) bool {
			return reflect.DeepEqual(s, given) || lot(uint64(i), text(t, s))%3 == 0
		}
		got, err := Shrink(t.Context(), given, func(_ context.Context, s scenario.Scenario) (bool, error) { return fails(s), nil }, ShrinkOptions{})
		if err != nil || !fails(got.Scenario) {
			t.Fatalf("scenario %d (%v) is shrunk to what does not fail:\n%s", i, err, text(t, got.Scenario))
		}
		if len(got.Scenario.Faults) > len(given.Faults) || orders(got.Scenario) > orders(given) {
			t.Errorf("scenario %d has grown:\n%s", i, text(t, got.Scenario))
		}
	}
}

func TestShrinkKeepsToItsBound(t *testing.T) {
	calls := 0
	got, err := Shrink(t.Context(), parsed(t, tangle), func(context.Context, scenario.Scenario) (bool, error) {
		calls++
		return false, nil
	}, ShrinkOptions{Calls: 5})
	if err != nil || calls != 5 || got.Calls != 5 || got.Complete || !reflect.DeepEqual(got.Scenario, parsed(t, tangle)) {
		t.Errorf("%d calls gave %+v (%v)", calls, got, err)
	}
}

func TestShrinkEndsWithAnError(t *testing.T) {
	broken := errors.New("no server")
	calls := 0
	got, err := Shrink(t.Context(), parsed(t, tangle), func(context.Context, scenario.Scenario) (bool, error) {
		if calls++; calls == 2 {
			return false, broken
		}
		return true, nil
	}, ShrinkOptions{})
	if !errors.Is(err, broken) || len(got.Scenario.Faults) != 1 || got.Complete {
		t.Errorf("got %+v (%v)", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got, err = Shrink(ctx, parsed(t, tangle), func(context.Context, scenario.Scenario) (bool, error) {
		cancel()
		return true, nil
	}, ShrinkOptions{})
	if !errors.Is(err, context.Canceled) || got.Calls != 1 || len(got.Scenario.Faults) != 1 {
		t.Errorf("interrupted: %+v (%v)", got, err)
	}
}

func TestShrinkKeepsOneSegment(t *testing.T) {
	s := parsed(t, tangle)
	s.Segments = []scenario.Segment{
		{Workload: []scenario.Step{placing(scenario.Order{Order: "a1"})}, Faults: []faults.Fault{{At: point(t, `relay.0/broker "connect" #1 after`), Do: faults.Cut}}},
		{Workload: []scenario.Step{placing(scenario.Order{Order: "b1"})}},
	}
	got, err := Shrink(t.Context(), s, func(_ context.Context, s scenario.Scenario) (bool, error) { return has(s, "connect"), nil }, ShrinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := parsed(t, "version: 1\ntarget: polling\nreplicas: 1\nworkload: [{place: {order: a1}}]\nfaults: [{at: relay.0/broker \"connect\" #1 after, do: cut}]")
	if !reflect.DeepEqual(got.Scenario, want) {
		t.Errorf("shrunk to\n%s", text(t, got.Scenario))
	}
	// When it takes both, what comes between may go.
	got, err = Shrink(t.Context(), s, func(_ context.Context, s scenario.Scenario) (bool, error) {
		placed, _ := s.Orders()
		return slices.Contains(placed, "o1") && slices.Contains(placed, "b1"), nil
	}, ShrinkOptions{})
	if err != nil || len(got.Scenario.Segments) != 1 || orders(got.Scenario) != 2 {
		t.Errorf("shrunk (%v) to\n%s", err, text(t, got.Scenario))
	}
}

func TestATimeBecomesTheNearestPoint(t *testing.T) {
	f := faults.Fault{Clock: 5 * time.Millisecond, Do: faults.Kill, On: faults.Link{Instance: faults.Instance{Role: "relay"}}}
	h := newTape("relay", "app")
	h.exchange("relay.0/postgres", 1, 1, "select outbox", 1, "", false)
	h.wire("relay.0/broker", 2, properties.WireOneWay, 1, "publish", 1, "", false)
	h.wire("relay.0/postgres", 1, properties.WireRequest, 2, "update outbox", 1, "", false)
	h.exchange("app.0/postgres", 3, 1, "commit", 4, "commit", false)
	h.fired(f, "relay.0")
	h.exchange("relay.0/postgres", 4, 1, "connect", 2, "", false)
	s := scenario.Scenario{Target: "polling", Workload: []scenario.Step{place(1)}, Faults: []faults.Fault{f}}
	var asked []string
	oracle := func(_ context.Context, s scenario.Scenario) (bool, error) {
		if len(s.Faults) == 1 {
			asked = append(asked, s.Faults[0].String())
		}
		return has(s, "connect", "unanswered"), nil
	}
	got, err := Shrink(t.Context(), s, oracle, ShrinkOptions{History: h.events})
	if err != nil || !has(got.Scenario, `kill at relay.0/postgres "connect" #1 unanswered`) {
		t.Errorf("shrunk (%v) to\n%s", err, text(t, got.Scenario))
	}
	want := []string{
		`kill at relay.0/postgres "update outbox" #1 unanswered`,
		`kill at relay.0/postgres "update outbox" #1 before`,
		`kill at relay.0/postgres "connect" #2 before`,
		`kill at relay.0/broker "publish" #1 after`,
		`kill at relay.0/broker "publish" #1 before`,
		`kill at relay.0/postgres "connect" #2 unanswered`,
		`kill at relay.0/postgres "connect" #1 unanswered`,
	}
	if !slices.Equal(asked, want) {
		t.Errorf("tried\n%s\nwant\n%s", strings.Join(asked, "\n"), strings.Join(want, "\n"))
	}
	if got, err := Shrink(t.Context(), s, oracle, ShrinkOptions{}); err != nil || !reflect.DeepEqual(got.Scenario, s) {
		t.Errorf("without a history (%v) it is shrunk to\n%s", err, text(t, got.Scenario))
	}
}

func TestWithAnOrderLessTheOccurrencesMayBeEarlier(t *testing.T) {
	s := parsed(t, "version: 1\nworkload: [{place: {order: o1}}, {place: {order: o2}}]\nfaults: [{at: relay.0/postgres \"commit\" #9 after, do: kill}, {at: relay.0/broker \"publish\" #2 before, do: cut}]")
	var got []string
	for _, c := range fewerOrders(s) {
		placed, _ := c.Orders()
		if placed[0] == "o1" {
			got = append(got, fmt.Sprintf("#%d and #%d", c.Faults[0].At.N, c.Faults[1].At.N))
		}
	}
	if want := []string{"#9 and #2", "#8 and #1", "#7 and #1", "#6 and #1", "#4 and #1", "#1 and #1"}; !slices.Equal(got, want) {
		t.Errorf("without the last order the occurrences %v are tried, want %v", got, want)
	}
}
