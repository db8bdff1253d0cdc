package properties

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// neverPanics judges the history and looks for what must hold of every
// judgement. A recovered panic is told in the reasons.
func neverPanics(t testing.TB, h []Event) Judgement {
	t.Helper()
	j := Judge(h)
	if has(reasons(j), "defect of outboxtest") || has(Earned(h), "defect of outboxtest") {
		t.Fatalf("a rule panicked: %q", reasons(j))
	}
	if (len(h) == 0 || h[len(h)-1].Kind != KindEnd) && j.Verdict != UnknownResult {
		t.Fatalf("a history without its end is %s", j.Verdict)
	}
	worst := Pass
	for _, r := range j.Results {
		if r.Claimed {
			worst = worst.Worse(r.Verdict)
		}
		if (r.Verdict == Fail) != (len(r.Violations) > 0) || r.Verdict == Pass && len(r.Why) > 0 {
			t.Fatalf("%s is %s with %d violations and the reasons %q", r.Property, r.Verdict, len(r.Violations), r.Why)
		}
	}
	if len(j.Why) > 0 {
		worst = worst.Worse(UnknownResult)
	}
	if j.Verdict != worst {
		t.Fatalf("the verdict is %s and should be %s", j.Verdict, worst)
	}
	return j
}

// FuzzJudge bends the recorded cases: drops, repeats and swaps events and
// changes words and numbers in them.
func FuzzJudge(f *testing.F) {
	all := cases()
	for i := range all {
		f.Add(uint8(i), []byte{1, 3, 9, 2, 5, 4, 4, 30, 1, 5, 7, 2})
	}
	f.Fuzz(func(t *testing.T, which uint8, bends []byte) {
		h := all[int(which)%len(all)].history()
		for len(bends) >= 3 && len(h) > 1 {
			i := int(bends[1]) % len(h)
			k := int(bends[2]) % len(h)
			switch bends[0] % 5 {
			case 0:
				h = append(h[:i], h[i+1:]...)
			case 1:
				h = append(h, h[i])
			case 2:
				h[i], h[k] = h[k], h[i]
			case 3:
				twist(&h[i], int(bends[2]))
			case 4:
				h[i].Kind = h[k].Kind
			}
			bends = bends[3:]
		}
		neverPanics(t, renumbered(h))
		neverPanics(t, renumbered(h[:len(h)-1]))
	})
}

func twist(e *Event, n int) {
	switch {
	case e.Trial != nil:
		e.Trial.Promise = Promise{Polls: n, Time: time.Duration(n) << 55}
		e.Trial.Consumers = e.Trial.Consumers[:n%(len(e.Trial.Consumers)+1)]
	case e.Call != nil:
		e.Call.Instance = strings.Repeat(".", n%3)
	case e.Answer != nil:
		e.Answer.Outcome = []Outcome{OK, Failed, Unknown}[n%3]
	case e.Wire != nil:
		e.Wire.What = []string{WireOpen, WireClose, WireRequest, WireReply, WireOneWay, WirePush, WireHeld, WireReleased, WireDropped, WireAnswered, WireOpaque}[n%11]
		e.Wire.Exchange += uint64(n % 4)
	case e.Process != nil:
		e.Process.What = []string{"started", "ready", "killed", "exited", "failed to start", "stopped", ""}[n%7]
	case e.Fault != nil:
		e.Fault.What = []string{"fired", "released", "healed", "not fired", ""}[n%5]
		e.Fault.Do = []string{"kill", "cut", "hang", "hold", "crash"}[n/5%5]
	case e.Ledger != nil:
		e.Ledger.Name = []string{LedgerCommitted, LedgerLog, LedgerApplied, LedgerPending, LedgerBroker, LedgerBackends}[n%6]
		e.Ledger.Final = n%2 == 0
	case e.Stall != nil:
		e.Stall.From, e.Stall.For = time.Duration(n-1)<<55, time.Duration(n%7-1)<<55
	case e.Drain != nil:
		e.Drain.Basis = []Basis{BasisComplete, BasisPendingZero, BasisPromise, BasisNone, ""}[n%5]
		e.Drain.Polls, e.Drain.Time = n, time.Duration(n)<<55
		e.Drain.Healthy, e.Drain.Consumers = n%2 == 0, n%3 == 0
	}
}

// Reading the same committed rows once more changes nothing.
func TestASecondReadingChangesNothing(t *testing.T) {
	all := cases()
	rapid.Check(t, func(t *rapid.T) {
		h := rapid.SampledFrom(all).Draw(t, "case").history()
		first := Judge(h)
		final := -1
		for i, e := range h {
			if finalOf(LedgerCommitted)(e) {
				final = i
			}
		}
		twin := *h[final].Ledger
		twin.Final = false
		again := append(append(append([]Event{}, h[:final]...), Event{At: h[final].At, Kind: KindLedger, Ledger: &twin}), h[final:]...)
		second := Judge(renumbered(again))
		if first.Verdict != second.Verdict {
			t.Fatalf("%s, and with a second reading %s", first.Verdict, second.Verdict)
		}
	})
}

// However a complete history loses an event from its log, it does not pass.
func TestALostEventNeverPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		orders := []string{"o1", "o2", "o3", "o4"}[:rapid.IntRange(1, 4).Draw(t, "orders")]
		basis := rapid.SampledFrom([]Basis{BasisComplete, BasisPendingZero, BasisPromise, BasisNone}).Draw(t, "basis")
		seen := rapid.Bool().Draw(t, "seen on the wire")
		lost := rapid.SampledFrom(orders).Draw(t, "lost")
		killed := rapid.Bool().Draw(t, "killed")
		b := begin(orders...).place(orders...)
		if killed {
			b.trial.Faults = []string{killMark}
			b.killRelay()
		}
		for _, order := range orders {
			if order == lost && !seen {
				continue
			}
			b.relay(order).apply(order)
		}
		var log []Message
		for _, m := range b.log {
			if m.Order != lost {
				log = append(log, m)
			}
		}
		b.log = log
		j := Judge(b.drain(basis).end())
		if j.Verdict == Pass {
			t.Fatal("a history that lost an event passed")
		}
		evidence := basis == BasisPendingZero || basis == BasisPromise
		if want := evidence && !seen; (j.Verdict == Fail) != want {
			t.Fatalf("%s on %q, seen on the wire: %v; reasons %q", j.Verdict, basis, seen, reasons(j))
		}
	})
}

// Without its end no history passes, however good it was.
func TestWithoutItsEndNothingPasses(t *testing.T) {
	for _, c := range cases() {
		h := c.history()
		for n := range h {
			neverPanics(t, h[:n])
		}
	}
}
