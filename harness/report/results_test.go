package report

import "github.com/outboxtest/outboxtest/properties"

func ground0() Environment {
	return Environment{Harness: "v1.0.0", Postgres: "15.4", Broker: "2.15.3", OS: "linux/amd64", CPUs: 2, Jobs: 2}
}

// passed is a reference that was swept in full.
func passed() Result {
	return Result{
		Version: Version, Target: "polling", Verdict: properties.Pass, Seed: 7, Seconds: 31.24, Trials: 440, TrialsPerSecond: 14.08,
		Points: Points{Total: 480, Exercised: 412, NotApplicable: 68}, Environment: ground0(),
		Properties: []Property{
			{Name: "no-lost-event", Claimed: true, Verdict: properties.Pass},
			{Name: "no-ghost-event", Claimed: true, Verdict: properties.Pass},
			{Name: "writes-survive-broker-outage", Verdict: properties.Pass},
		},
		LeftOut:  []LeftOut{{Reason: "an idle poll touches nothing", Cells: 60}, {Reason: "equivalent to another cell", Cells: 8}},
		Explored: &Explored{Trials: 20, Faults: 41, Struck: 38, Partly: 3},
		Expected: properties.Pass,
	}
}

// convicted is a mutant with more violations than are told in full.
func convicted() Result {
	v := Violation{
		Summary: "o1 was committed and its event never reached the broker's log",
		Order:   "o1", Point: `app.0/postgres "commit" #1 unanswered`, Fault: `kill at app.0/postgres "commit" #1 unanswered`,
		Scenario: ".outboxtest/failures/save-then-send-no-lost-event-1.yaml",
		History:  ".outboxtest/failures/save-then-send-no-lost-event-1.jsonl",
		Evidence: []string{
			`+1.0ms app.0/postgres "commit" #1: delivered, processed, its reply withheld at +2.0ms (the transaction ended: commit), dropped at +3.0ms`,
			"ledgers: no publish of o1 was seen on any link",
		},
		Reproduced: Reproduced{Failed: 1, Runs: 1}, Cells: 3,
	}
	flaky := v
	flaky.Reproduced, flaky.Cells = Reproduced{Runs: 1}, 1
	flaky.Fault = `kill at clock 120ms`
	flaky.Point = "clock 120ms"
	flaky.Holds = &Holds{Tried: 24}
	v.Shrunk = &Shrunk{Calls: 1, Complete: true, From: Size{Orders: 4, Faults: 1}, To: Size{Orders: 1, Faults: 1}}
	without := v
	without.Shrunk = &Shrunk{Calls: 16, From: Size{Orders: 3}, To: Size{Orders: 3}}
	without.Point, without.Fault, without.Cells = "no fault", "", 1
	without.Scenario = "it's here/a b.yaml"
	return Result{
		Version: Version, Target: "save-then-send", Verdict: properties.Fail, Seed: 7, Seconds: 3.2, Trials: 1, TrialsPerSecond: 6.2,
		Points: Points{Total: 164, Exercised: 1, NotApplicable: 163}, Environment: ground0(),
		Properties: []Property{
			{Name: "no-lost-event", Claimed: true, Verdict: properties.Fail, Violations: []Violation{v, flaky, without}},
			{Name: "no-ghost-event", Claimed: true, Verdict: properties.Pass},
			{Name: "writes-survive-broker-outage", Verdict: properties.Fail, Violations: []Violation{{
				Summary: "o2 was refused while the broker was away", Point: "no fault", Reproduced: Reproduced{Failed: 1, Runs: 1},
			}}},
		},
		Blame:    "the broker: it acknowledged the event and no longer holds it",
		Expected: properties.Fail, ExpectedProperty: "no-lost-event", CaughtBy: []string{"no-lost-event"},
	}
}

// unknown has every kind of reason, one of them with what a terminal would
// obey.
func unknown() Result {
	r := Result{
		Version: Version, Target: "my-outbox.yaml", Verdict: properties.UnknownResult, Seconds: 60, Trials: 30,
		Points: Points{Total: 42, Exercised: 30, Unreached: 12}, Environment: Environment{Jobs: 1},
		Properties: []Property{
			{Name: "no-lost-event", Claimed: true, Verdict: properties.UnknownResult, Why: []string{"batch, no fault: the relay said \x1b[31mred\x07 things"}},
			{Name: "no-ghost-event", Claimed: true, Verdict: properties.UnknownResult},
			{Name: "writes-survive-broker-outage", Verdict: properties.UnknownResult, Why: []string{"not to be told"}},
		},
		Why: []string{"the applied ledger is empty: the consumer applied nothing"},
	}
	for range 12 {
		r.Unreached = append(r.Unreached, Unreached{Run: "batch", Fault: `cut at relay.0/broker "publish" #9 before`, Why: "the relay published 8 times"})
	}
	return r
}
