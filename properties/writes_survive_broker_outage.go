package properties

import "fmt"

func writesSurviveBrokerOutage() Rule {
	return Rule{
		Name: WritesSurviveBrokerOutages,
		About: "No order is refused because the broker is away: that is what the outbox is for. An order that failed, or whose " +
			"outcome is unknown, and that never committed is a violation when the app's own link to the broker was cut or hung " +
			"while it was being placed, and its process and its database link had nothing to suffer. An order that has no event " +
			"in a run of the same workload without faults either is one that the business itself refuses.",
		judge: judgeOutage,
	}
}

func judgeOutage(ix *index) finding {
	var f finding
	for _, order := range ix.trial.Orders {
		call, answer := ix.calls[order], ix.answers[order]
		if _, ok := ix.committed[order]; ok || call == nil || answer == nil || answer.Answer.Outcome == OK {
			continue
		}
		outage := ix.outage(call, answer)
		if outage == nil || ix.excused(order) {
			continue
		}
		if why := ix.unseen(order); why != "" {
			f.unknown(fmt.Sprintf("%s was not written while the broker was away, but %s", order, why))
			continue
		}
		facts := []string{
			fmt.Sprintf("%s held from %s, and %s was called at %s and answered %s at %s",
				outage.text, at(outage.fired), order, at(call), answer.Answer.Outcome, at(answer)),
			order + " is in no committed reading of the trial",
			"no fault touched the app's process or its link to Postgres",
		}
		f.violations = append(f.violations, Violation{
			Summary:  order + " was refused while the broker was away",
			Order:    order,
			Evidence: ix.evidence(order, "", facts),
		})
	}
	return f
}

// outage returns a fault on the app's broker link that was in force between the
// two events.
func (ix *index) outage(call, answer *Event) *fault {
	for _, f := range ix.faults {
		if (f.do == "cut" || f.do == "hang") && ServerOf(f.on) == "broker" && RoleOf(f.on) == "app" && ix.inForce(f, call.Seq, answer.Seq) {
			return f
		}
	}
	return nil
}

// excused reports whether the app had something else to suffer than the
// broker's absence: whose own process dies or whose database is cut off may
// refuse an order, and so may the business.
func (ix *index) excused(order string) bool {
	if b := ix.trial.Baseline; b != nil && b.Events[order] == 0 {
		return true
	}
	call, answer := ix.calls[order], ix.answers[order]
	for _, f := range ix.faults {
		struck := f.fired != nil && f.fired.Seq < answer.Seq && RoleOf(f.on) == "app"
		if struck && (f.do == "kill" || ServerOf(f.on) != "broker") {
			return true
		}
	}
	for _, e := range ix.processes {
		if e.Process.Instance == call.Call.Instance && ended(e) && e.Seq < answer.Seq {
			return true
		}
	}
	return false
}

// unseen says why the order may have been written all the same; empty when
// that would have been seen.
func (ix *index) unseen(order string) string {
	if links := ix.opaqueLinks("app", "postgres"); len(links) > 0 || len(ix.bypassed) > 0 {
		return "its commit may have passed unseen"
	}
	if p := ix.placing(order); len(p.done) > 0 || len(p.maybe) > 0 {
		return "a transaction may have committed it, and its row been removed"
	}
	return ""
}
