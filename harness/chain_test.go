package harness

import (
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
)

// chainOf derives the cells of a target's stepwise run, with two orders, whose
// points contain the text, and keeps those that a chain can visit.
func chainOf(t *testing.T, r *run, points string) []search.Cell {
	t.Helper()
	r.options.Orders = 2
	if err := r.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !r.earned {
		t.Fatalf("the fault-free runs are not earned: %v", r.findings.other.told())
	}
	cells, _ := search.Cells(r.recordings[0], search.Options{Points: points})
	var chain []search.Cell
	for _, c := range cells {
		if c.Segment != nil {
			chain = append(chain, c)
		}
	}
	if len(chain) < 2 {
		t.Fatalf("of %d cells %d can be chained", len(cells), len(chain))
	}
	return chain
}

func TestAChainVisitsItsCells(t *testing.T) {
	s := borrow(t)
	r := prepared(t, s, reference(t))
	cells := chainOf(t, r, "relay.0")
	out, err := r.visitChain(t.Context(), 0, cells)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.visited) != len(cells) || len(out.rest) > 0 || out.failed != nil {
		t.Errorf("visited %d of %d, left %v", len(out.visited), len(cells), out.rest)
	}
}

// The cells of a broken target fail in a chain as they do alone, and the one to
// blame is named.
func TestABrokenChainNamesTheCell(t *testing.T) {
	s := borrow(t)
	r := prepared(t, s, find(t, "mark-before-publish").Target)
	cells := chainOf(t, r, `relay.0/postgres "commit"`)
	links := search.Chain(cells)
	r.baseOn(links.Scenario, links.Baseline(r.baselines[workloadOf(cells[0].Scenario)]))
	v, err := r.try(t.Context(), 0, links.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if v.judgement.Verdict == properties.Pass {
		t.Fatal("the chain passes, and a relay that marks before it publishes was killed between the two")
	}
	i, known := v.blamed(links.Cells)
	if !known || cells[i].Fault.Do != "kill" {
		t.Errorf("blamed: %v, %v", i, known)
	}
}

// A segment whose fault finds nothing to strike ends the chain, and what was
// planned after it was not exercised.
func TestAChainThatMissesAFaultIsUnknown(t *testing.T) {
	s := borrow(t)
	sc := parse(t, oneOrder+`segments:
  - workload: [{place: {order: o2}}]
    faults: [{at: 'relay.0/broker "publish" #7 before', do: cut}]
  - workload: [{place: {order: o3}}]
    faults: [{at: 'relay.0/broker "publish" #1 before', do: cut}]
`)
	v := attempt(t, s, reference(t), sc, 1)[0]
	if v.judgement.Verdict != properties.UnknownResult || v.segments != 1 {
		t.Errorf("the verdict is %s after %d segments", v.judgement.Verdict, v.segments)
	}
	if why := v.whyUnfired(); !strings.Contains(why, `#7 never came`) || !strings.Contains(why, "segment 1 did not drain") {
		t.Errorf("why: %s", why)
	}
}

// In a batch segment the relays start after the orders, as they do in a batch.
func TestABatchSegmentHoldsTheRelays(t *testing.T) {
	s := borrow(t)
	sc := parse(t, oneOrder+`segments:
  - pace: batch
    workload: [{place: {order: o2}}, {place: {order: o3}}]
    faults: [{at: 'relay.0/postgres "update outbox" #1 unanswered', do: kill}]
  - workload: [{place: {order: o4}}]
`)
	v := attempt(t, s, reference(t), sc, 1)[0]
	if v.judgement.Verdict != properties.Pass || v.segments != 3 {
		t.Fatalf("the verdict is %s after %d segments: %s", v.judgement.Verdict, v.segments, v.told())
	}
	answered, segment, claims := 0, 0, 0
	for _, e := range v.history {
		switch {
		case e.Kind == properties.KindSegment:
			segment = e.Segment
		case e.Answer != nil && segment == 1:
			answered++
		case e.Wire != nil && segment == 1 && e.Wire.Label == "select outbox" && e.Wire.What == properties.WireReply:
			if claims++; claims == 1 && (answered != 2 || e.Wire.Rows != 2) {
				t.Errorf("the first claim came after %d answers and found %d rows, want both orders", answered, e.Wire.Rows)
			}
		}
	}
	if claims == 0 {
		t.Error("no claim was seen")
	}
	again, err := scenario.Format(sc)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(again), "segments:") {
		t.Errorf("the file lost its segments:\n%s", again)
	}
}

// Cells of a kind that has broken chains twice are not put into chains again.
func TestKindsThatBreakChainsAreVisitedAlone(t *testing.T) {
	kill, cut := cellAt(t, "stepwise", `relay.0/broker "publish" #2 unanswered`, faults.Fault{Do: faults.Kill}), cellAt(t, "stepwise", `relay.0/broker "publish" #2 before`, faults.Fault{Do: faults.Cut})
	var b breaks
	for i := range kindBreaks {
		if chain, alone := b.part([]search.Cell{kill, cut}); len(chain) != 2 || len(alone) != 0 {
			t.Errorf("after %d breaks: %d in the chain, %d alone", i, len(chain), len(alone))
		}
		b.note(kill)
	}
	chain, alone := b.part([]search.Cell{kill, cut})
	if len(chain) != 1 || len(alone) != 1 || alone[0].Fault.Do != faults.Kill {
		t.Errorf("%v in the chain, %v alone", chain, alone)
	}
}
