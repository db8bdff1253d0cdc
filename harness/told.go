package harness

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
)

// tell has a finding's violation be that of a trial, with the files that are kept
// of it.
func (r *run) tell(x *finding, v visit, violation properties.Violation, k kept) {
	all := v.scenario.AllFaults()
	point, cause := noFault, ""
	if len(all) == 1 {
		cause = causeOf(all[0])
	}
	if len(all) > 0 {
		last := all[len(all)-1]
		if point = "clock " + last.Clock.String(); last.At != nil {
			point = last.At.String()
		}
	}
	unkept, command := "", ""
	if k.unkept != nil {
		unkept = strings.ReplaceAll(k.unkept.Error(), "\n", "; ")
		r.options.Log.Warn("what was found could not be written down", "property", x.property, "error", k.unkept)
	}
	if !k.scenario {
		command = r.oneLine(v.scenario)
	}
	r.findings.lock(func() {
		into := x.violation
		into.Summary, into.Order, into.Evidence = violation.Summary, violation.Order, violation.Evidence
		into.Point, into.Fault = point, faults.FormatFaults(all)
		into.Scenario, into.History, into.Unkept, into.Command = "", "", unkept, command
		if k.scenario {
			into.Scenario = relative(x.base + scenarioEnd)
		}
		if k.scenario && k.history {
			into.History = relative(x.base + historyEnd)
		}
		x.cause = cause
	})
}

// oneLine is the command that executes a scenario without its file; empty where no
// line can say it. One without any fault is shown by every run.
func (r *run) oneLine(s scenario.Scenario) string {
	target := named(r.target)
	list := s.AllFaults()
	if len(s.Segments) > 0 {
		return ""
	}
	placed, _ := s.Orders()
	for _, run := range search.Runs(shapeOf(r.target, Options{Orders: len(placed)})) {
		if s.Pace != run.Scenario.Pace || s.Replicas != run.Scenario.Replicas || !reflect.DeepEqual(s.Workload, run.Scenario.Workload) {
			continue
		}
		if len(list) == 0 {
			return report.Command("run", target, "--orders", strconv.Itoa(len(placed)))
		}
		return report.Command("replay", faults.FormatFaults(list), "--target", target, "--run", run.Name, "--orders", strconv.Itoa(len(placed)))
	}
	return ""
}
