package properties

import (
	"slices"
	"testing"
)

// without drops the events that match and numbers the rest again.
func without(h []Event, match func(Event) bool) []Event {
	h = slices.DeleteFunc(slices.Clone(h), match)
	return renumbered(h)
}

func renumbered(h []Event) []Event {
	for i := range h {
		h[i].Seq = i + 1
	}
	return h
}

func finalOf(name string) func(Event) bool {
	return func(e Event) bool { return e.Ledger != nil && e.Ledger.Final && e.Ledger.Name == name }
}

func isKind(k Kind) func(Event) bool { return func(e Event) bool { return e.Kind == k } }

// A history that breaks its own assumptions is unknown in everything, also
// where a rule would have found a violation.
func TestBrokenAssumptions(t *testing.T) {
	violated := func() *builder { return lostOne(BasisPendingZero) }
	if Judge(violated().end()).Verdict != Fail {
		t.Fatal("the history to break is no violation")
	}
	tests := []struct {
		name string
		h    []Event
		why  string
	}{
		{"empty", nil, "the history is empty"},
		{"no trial", without(violated().end(), isKind(KindTrial)), "does not begin with its trial"},
		{"other version", func() []Event {
			b := violated()
			b.trial.Version = 2
			return b.end()
		}(), "version 2"},
		{"two trials", violated().add(Event{Kind: KindTrial, Trial: &Trial{Version: Version}}).end(), "a second trial"},
		{"no end", without(violated().end(), isKind(KindEnd)), "does not run to its end"},
		{"end in the middle", violated().add(Event{Kind: KindEnd}).end(), "follows the end"},
		{"numbers", func() []Event {
			h := violated().end()
			h[5].Seq = 99
			return h
		}(), "the order of the history is lost"},
		{"no payload", violated().add(Event{Kind: KindCall}).end(), `without its "call"`},
		{"other payload", violated().add(Event{Kind: KindQuiesced, Call: &Call{}}).end(), "belongs to another kind"},
		{"unknown kind", violated().add(Event{Kind: "gossip"}).end(), `kind "gossip"`},
		{"problem", violated().add(Event{Kind: KindProblem, Problem: "relay.0 did not start"}).end(), "relay.0 did not start"},
		{"negative promise", func() []Event {
			b := violated()
			b.trial.Promise.Time = -1
			return b.end()
		}(), "promised drain is negative"},
		{"not quiesced", without(violated().end(), isKind(KindQuiesced)), "never seen quiet"},
		{"no final committed", without(violated().end(), finalOf(LedgerCommitted)), "final committed ledger was read 0 times"},
		{"no final log", without(violated().end(), finalOf(LedgerLog)), "final log ledger was read 0 times"},
		{"no final applied", without(violated().end(), finalOf(LedgerApplied)), "final applied ledger was read 0 times"},
		{"final before quiet", func() []Event {
			h := violated().end()
			i := slices.IndexFunc(h, finalOf(LedgerCommitted))
			early := h[i]
			h = slices.Insert(slices.Delete(h, i, i+1), 1, early)
			return renumbered(h)
		}(), "before the servers were quiet"},
		{"final twice", violated().reading(Ledger{Name: LedgerApplied, Final: true}).end(), "final applied ledger was read 2 times"},
		{"read after final", func() []Event {
			h := violated().end()
			last := len(h) - 1
			h = slices.Insert(h, last, Event{Kind: KindLedger, Ledger: &Ledger{Name: LedgerCommitted}})
			return renumbered(h)
		}(), "read again after its final reading"},
		{"work after quiet", func() []Event {
			h := violated().end()
			h = slices.Insert(h, len(h)-1, Event{Kind: KindProcess, Process: &Process{Instance: "app.0", What: "started"}})
			return renumbered(h)
		}(), "after the servers were quiet"},
		{"answer without call", violated().answer("o9", OK).end(), "o9 was answered before it was called"},
		{"answered twice", violated().answer("o1", OK).end(), "o1 was answered twice"},
		{"called twice", violated().call("o1").end(), "o1 was called twice"},
		{"unplanned call", violated().call("o9").end(), "o9 was called and is not in the trial's plan"},
		{"answer to another operation", func() []Event {
			b := violated()
			b.trial.Aborts = []string{"o7"}
			b.call("o7")
			return b.add(Event{Kind: KindAnswer, Answer: &Answer{Op: "place", Order: "o7", Outcome: OK}}).end()
		}(), "called to abort and answered to place"},
		{"no outcome", func() []Event {
			b := violated()
			b.trial.Aborts = []string{"o7"}
			return b.call("o7").answer("o7", "maybe").end()
		}(), `"maybe", which is no outcome`},
		{"reply to nothing", violated().next(relay, "commit", reply).end(), "a request that was never delivered"},
		{"two replies", violated().next(relay, "commit", request, reply, reply).end(), "a second reply"},
		{"connection on two links", violated().add(Event{Kind: KindWire, Wire: &Wire{Link: "x.0/broker", Conn: 1, What: WireOpen}}).end(), "connection 1 is on"},
		{"unknown wire event", violated().wire(relay, Wire{What: "sang"}).end(), `"sang" is nothing that happens on a wire`},
		{"unknown ledger", violated().reading(Ledger{Name: "cash"}).end(), "none that this checker knows"},
		{"pending without a number", violated().reading(Ledger{Name: LedgerPending}).end(), "has no number"},
		{"pending below zero", violated().readPending(-1).end(), "counts below zero"},
		{"log out of order", violated().reading(Ledger{Name: LedgerLog, Log: []Message{{Position: 2}, {Position: 1}}}).end(), "positions in order"},
		{"negative effects", violated().effect("kitchen", "o1", -1).end(), "counts below zero"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := Judge(test.h)
			if j.Verdict != UnknownResult || !has(j.Why, test.why) {
				t.Errorf("%s, %q; want unknown with %q", j.Verdict, j.Why, test.why)
			}
			for _, r := range j.Results {
				if r.Verdict != UnknownResult || len(r.Violations) > 0 {
					t.Errorf("%s is %s", r.Property, r.Verdict)
				}
			}
			if len(Earned(test.h)) == 0 {
				t.Error("it earned a pass")
			}
		})
	}
}

// A rule that panics has proved nothing, and takes no other rule with it.
func TestPanickingRule(t *testing.T) {
	ix := newIndex(complete("o1").end())
	r := judgeRule(ix, Rule{Name: "panics", Always: true, judge: func(*index) finding { panic("index 3") }})
	if r.Verdict != UnknownResult || !has(r.Why, "judging panics failed, which is a defect of outboxtest: index 3") {
		t.Errorf("%+v", r)
	}
}

func TestWorse(t *testing.T) {
	order := []Verdict{Pass, UnknownResult, Fail}
	for i, v := range order {
		for k, other := range order {
			if got, want := v.Worse(other), order[max(i, k)]; got != want {
				t.Errorf("%s.Worse(%s) is %s, want %s", v, other, got, want)
			}
		}
	}
}

func TestAllAreExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if r.Name == "" || seen[r.Name] || len(r.About) < 100 || r.judge == nil {
			t.Errorf("rule %+v", r)
		}
		seen[r.Name] = true
	}
}
