package harness

import (
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
)

// A file whose chain loses an event on its way is judged as any other: what is
// replayed has the time of a proof in each of its segments.
func TestAReplayedChainProvesItsLoss(t *testing.T) {
	s := borrow(t)
	sc := parse(t, oneOrder+`segments:
  - workload: [{place: {order: o2}}]
    faults: [{at: 'relay.0/broker "publish" #1 before', do: kill}]
  - workload: [{place: {order: o3}}]
    faults: [{at: 'relay.0/broker "publish" #1 before', do: cut}]
`)
	replayed, err := s.Replay(t.Context(), find(t, "mark-before-publish").Target, sc, 1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if replayed.Failed != 1 {
		t.Fatalf("%+v", replayed)
	}
	for _, p := range replayed.Judgement.Results {
		for _, v := range p.Violations {
			if p.Property != properties.NoLostEvent || v.Order != "o2" {
				t.Errorf("%s: %s", p.Property, v.Summary)
			}
		}
	}
}

// A chain whose fault finds nothing to strike says which, also where it is
// replayed with all the time of a proof.
func TestAReplayedChainNamesTheFaultThatMissed(t *testing.T) {
	s := borrow(t)
	sc := parse(t, oneOrder+`segments:
  - workload: [{place: {order: o2}}]
    faults: [{at: 'relay.0/broker "publish" #7 before', do: cut}]
  - workload: [{place: {order: o3}}]
`)
	replayed, err := s.Replay(t.Context(), reference(t), sc, 1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if replayed.Unknown != 1 {
		t.Fatalf("%+v", replayed)
	}
	const want = `segment 1 did not drain with its faults struck: cut at relay.0/broker "publish" #7 before found nothing to strike: "publish" was seen 1 times`
	told := strings.Join(replayed.Judgement.Why, "\n")
	if !strings.Contains(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// Who is not to come back before everything is healed comes back in its segment,
// so that the next has somebody to strike.
func TestARestartThatNeverComesEndsInItsSegment(t *testing.T) {
	s := borrow(t)
	sc := parse(t, oneOrder+`segments:
  - workload: [{place: {order: o2}}, {place: {order: o3}}]
    faults: [{at: 'relay.0/broker "publish" #1 before', do: kill, then: {restart: never}}]
  - workload: [{place: {order: o4}}]
    faults: [{at: 'relay.0/broker "publish" #1 before', do: kill}]
`)
	replayed, err := s.Replay(t.Context(), reference(t), sc, 1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if replayed.Passed != 1 {
		t.Errorf("%+v", replayed)
	}
}
