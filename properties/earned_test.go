package properties

import (
	"slices"
	"testing"
)

func onLink(role, server string) func(Event) bool {
	return func(e Event) bool {
		return e.Wire != nil && RoleOf(e.Wire.Link) == role && ServerOf(e.Wire.Link) == server
	}
}

// A fault-free pass that was not earned is unknown, with the reason.
func TestUnearned(t *testing.T) {
	full := func() *builder { return complete("o1", "o2") }
	if reasons := Earned(full().end()); len(reasons) > 0 {
		t.Fatalf("the complete history did not earn its pass: %q", reasons)
	}
	tests := []struct {
		name string
		h    []Event
		why  string
	}{
		{"wrong committed query", bend(full(), func(b *builder) { b.committed = nil }).end(), "the committed ledger is empty"},
		{"committed query finds other rows", bend(full(), func(b *builder) {
			b.committed = []Row{{Order: "17"}, {Order: "18"}}
		}).end(), "o1 was answered ok and is in no committed reading"},
		{"nothing reached the log", begin("o1").place("o1").drain(BasisComplete).end(), "the broker's log is empty"},
		{"unread events", bend(full(), func(b *builder) { b.log[0].Order, b.log[0].Unread = "", "no $.ref" }).end(), "could not be read: no $.ref"},
		{"accepted and unread", bend(full(), func(b *builder) { b.log[0].Order = "" }).end(), "no event of it could be read"},
		{"nothing applied", bend(full(), func(b *builder) { b.applied = nil }).end(), "kitchen applied nothing"},
		{"no consumers", bend(full(), func(b *builder) { b.trial.Consumers = nil }).end(), "no consumer's effects were read"},
		{"nothing answered ok", begin("o1").call("o1").answer("o1", Failed).relay().drain(BasisComplete).end(), "no order was answered ok"},
		{"bypassed", bend(full(), func(b *builder) { b.bypassed = []string{"backend 3"} }).end(), "connections came past the proxies"},
		{"backends not read", without(full().end(), func(e Event) bool {
			return e.Ledger != nil && e.Ledger.Name == LedgerBackends
		}), "were not asked"},
		{"opaque", full().wire("relay.0/broker", Wire{What: WireOpaque}).end(), "relay.0/broker could not be read"},
		{"relay past the database's proxy", without(full().end(), onLink("relay", "postgres")), "between the relay and the postgres proxy"},
		{"relay past the broker's proxy", without(full().end(), onLink("relay", "broker")), "between the relay and the broker proxy"},
		{"app past the proxy", without(full().end(), onLink("app", "postgres")), "between the app and the postgres proxy"},
		{"consumer past the proxy", without(full().end(), onLink("consumer", "broker")), "between the consumer and the broker proxy"},
		{"publisher in the app past the proxy", bend(full(), func(b *builder) { b.trial.Roles = []string{"app"} }).end(), "between the app and the broker proxy"},
		{"one event past the proxies", full().message("o2").end(), ""},
		{"event seen nowhere", func() []Event {
			return begin("o1", "o2").place("o1", "o2").relay("o1").message("o2").apply("o1", "o2").drain(BasisComplete).end()
		}(), "an event of o2 is in the log and was seen on no link"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := Judge(test.h)
			if test.why == "" {
				if j.Verdict != Pass {
					t.Errorf("%s, %q", j.Verdict, reasons(j))
				}
				return
			}
			if j.Verdict != UnknownResult || !has(j.Why, test.why) {
				t.Errorf("%s, %q; want unknown with %q", j.Verdict, j.Why, test.why)
			}
		})
	}
}

// A planned fault that was not done is never a pass.
func TestFaultsThatWereNotDone(t *testing.T) {
	done := func() *builder {
		return struck(killMark, "o1").place("o1").relay("o1").killRelay().apply("o1").drain(BasisComplete)
	}
	if j := Judge(done().end()); j.Verdict != Pass {
		t.Fatalf("%s, %q", j.Verdict, reasons(j))
	}
	base := func() *builder {
		return struck(killMark, "o1").place("o1").relay("o1").apply("o1").drain(BasisComplete)
	}
	held := func() *builder { return struck("hold ...", "o1").place("o1").fault("fired", "hold", app) }
	tests := []struct {
		name string
		h    []Event
		why  string
	}{
		{"not fired", base().fault("not fired", "kill", "", "its label never occurred").end(), "did not fire: its label never occurred"},
		{"not told", base().end(), "1 faults were planned, and the history tells of 0"},
		{"one of two", bend(done(), func(b *builder) { b.trial.Faults = append(b.trial.Faults, "cut") }).end(), "2 faults were planned, and the history tells of 1"},
		{"held to the end", held().fault("healed", "hold", app).relay("o1").apply("o1").drain(BasisComplete).end(), "was not released by its point"},
		{"released by the budget", held().fault("released", "hold", app, "the drain budget is spent").relay("o1").apply("o1").drain(BasisComplete).end(), "was not released by its point: the drain budget is spent"},
		{"released by its point", held().fault("released", "hold", app).relay("o1").apply("o1").drain(BasisComplete).end(), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := Judge(test.h)
			if test.why == "" {
				if j.Verdict != Pass {
					t.Errorf("%s, %q", j.Verdict, reasons(j))
				}
				return
			}
			if j.Verdict != UnknownResult || !has(j.Why, test.why) {
				t.Errorf("%s, %q; want unknown with %q", j.Verdict, j.Why, test.why)
			}
		})
	}
}

// A proved loss in a fault-free run is a fail, not an unearned pass.
func TestFailBeatsUnearned(t *testing.T) {
	h := begin("o1").place("o1").relay().drain(BasisPendingZero).end()
	j := Judge(h)
	if j.Verdict != Fail {
		t.Errorf("%s, %q", j.Verdict, reasons(j))
	}
	if slices.Contains(j.Why, "o1 was answered ok and no event of it could be read from the log") {
		t.Error("a proved loss is told as unread")
	}
}

// With faults what the ledgers hold depends on them. That the trial was carried out
// does not.
func TestUnearnedWithFaults(t *testing.T) {
	full := func() *builder { return complete("o1", "o2").killRelay() }
	faulted := func(b *builder) []Event {
		b.trial.Faults = []string{"kill at a point of relay.0"}
		return b.drain(BasisComplete).end()
	}
	if reasons := Earned(faulted(full())); len(reasons) > 0 {
		t.Fatalf("the complete history did not earn its pass: %q", reasons)
	}
	for _, test := range []struct {
		name string
		h    []Event
		why  string
	}{
		{"no wait", without(faulted(full()), func(e Event) bool { return e.Kind == KindDrain }), "did not wait for the outbox"},
		{"no call", without(faulted(full()), func(e Event) bool {
			return e.Call != nil && e.Call.Order == "o2" || e.Answer != nil && e.Answer.Order == "o2"
		}), "o2 was never asked for"},
		{"bypassed", faulted(bend(full(), func(b *builder) { b.bypassed = []string{"backend 3"} })), "connections came past the proxies"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if j := Judge(test.h); j.Verdict != UnknownResult || !has(j.Why, test.why) {
				t.Errorf("%s, %q; want unknown with %q", j.Verdict, reasons(j), test.why)
			}
		})
	}
}
