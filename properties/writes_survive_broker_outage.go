package properties

import "fmt"

func writesSurviveBrokerOutage() Rule {
	return Rule{
		Name: WritesSurviveBrokerOutages,
		About: "No order is refused because the broker is away: that is what the outbox is for. An order that failed, or whose " +
			"outcome is unknown, and that never committed is a violation when a link to the broker was cut or hung while it " +
			"was being placed and no fault touched the app's process or its database link.",
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
		if outage == nil {
			continue
		}
		if why := ix.notRefused(order, outage); why != "" {
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

// outage returns a fault on a broker link that was in force between the two
// events, the app's own link first.
func (ix *index) outage(call, answer *Event) *fault {
	var found *fault
	for _, f := range ix.faults {
		if (f.do != "cut" && f.do != "hang") || serverOf(f.on) != "broker" || !ix.inForce(f, call.Seq, answer.Seq) {
			continue
		}
		if found == nil || roleOf(f.on) == "app" {
			found = f
		}
	}
	return found
}

// notRefused says why the broker's absence need not be what kept the order
// from being written; empty when nothing else can have been.
func (ix *index) notRefused(order string, outage *fault) string {
	call, answer := ix.calls[order], ix.answers[order]
	for _, f := range ix.faults {
		if f.fired == nil || f.fired.Seq > answer.Seq || roleOf(f.on) != "app" {
			continue
		}
		if f.do == "kill" || serverOf(f.on) != "broker" {
			return "a fault had touched the app's process or its link to Postgres"
		}
	}
	for _, e := range ix.processes {
		if e.Process.Instance == call.Call.Instance && ended(e) && e.Seq < answer.Seq {
			return "the app's process had ended by then"
		}
	}
	if answer.Answer.Outcome == Unknown && roleOf(outage.on) != "app" {
		return "its outcome is unknown and it was another instance that had lost the broker"
	}
	if links := ix.opaqueLinks("app", "postgres"); len(links) > 0 || len(ix.bypassed) > 0 {
		return "its commit may have passed unseen"
	}
	if p := ix.placing(order); len(p.done) > 0 || len(p.maybe) > 0 {
		return "a transaction may have committed it, and its row been removed"
	}
	return ""
}
