package harness

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/outboxtest/outboxtest/harness/diagnosis"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// logShown is how much of the end of a log is looked at, in bytes.
const logShown = 2000

// oneOrderOf is the scenario of an examination: one order, and one relay, so that all
// that is seen is of the same few processes.
func oneOrderOf(t targets.Target) scenario.Scenario {
	return scenario.Scenario{Target: t.Ref, Replicas: 1, Workload: []scenario.Step{{Place: &scenario.Order{Order: "o1", Customer: "c1"}}}}
}

// failure says of which step an error of the target is.
func failure(e *trial.TargetError, history []properties.Event) diagnosis.Failure {
	f := diagnosis.Failure{What: e.What, Mend: e.Mend}
	if e.Instance != "" {
		f.What = e.Instance + " " + e.What
	}
	if e.Log != "" {
		f.Evidence = strings.Split(strings.TrimRight(e.Log, "\n"), "\n")
	}
	switch e.Stage {
	case trial.StageStart, trial.StageReady, trial.StageExit:
		f.Step = stepOf(e, history)
		if f.Mend == "" {
			f.Mend = "see in its log why it ended; a role runs until it is killed"
		}
	case trial.StageLog:
		f.Step = diagnosis.Event
	default:
		f.Step = string(e.Stage) // the others have the names of their steps
	}
	if f.Mend == "" {
		f.Mend = map[string]string{
			diagnosis.Build:     "run that command by hand in the same folder: it has to succeed",
			diagnosis.Schema:    "run that by hand on an empty database: it has to succeed",
			diagnosis.Committed: "run the committed query by hand: it returns the order's token, and optionally the row's own id",
			diagnosis.Pending:   "run the pending query by hand: it returns one number",
			diagnosis.Applied:   "run the applied query by hand: it returns event id, consumer and the number of effects",
		}[f.Step]
	}
	return f
}

// stepOf is the step of an instance that does not start, or does not go on.
func stepOf(e *trial.TargetError, history []properties.Event) string {
	switch e.Role() {
	case targets.RoleRelay:
		return diagnosis.Relay
	case targets.RoleConsumer:
		return diagnosis.Applied
	}
	ready, called := false, false
	for _, event := range history {
		ready = ready || event.Process != nil && event.Process.Instance == e.Instance && event.Process.What == "ready"
		called = called || event.Answer != nil && event.Answer.Outcome == properties.OK
	}
	switch {
	case called:
		return diagnosis.Event // it did what was asked, and is to go on
	case ready:
		return diagnosis.Order
	}
	return diagnosis.App
}

func messages(list []trial.Sighting) []diagnosis.Message {
	var out []diagnosis.Message
	for _, m := range list {
		out = append(out, diagnosis.Message{Link: m.Link, Conn: m.Conn, Exchange: m.Exchange, Position: m.Position, Subject: m.Subject, Header: m.Header, Body: m.Body})
	}
	return out
}

// logsIn are the ends of the logs in a folder, by the names of their instances.
func logsIn(dir string) map[string]string {
	logs := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return nil // the pattern is ours
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it is shown where there is one
		}
		end := string(text[max(0, len(text)-logShown):])
		if _, whole, found := strings.Cut(end, "\n"); found && len(text) > logShown {
			end = whole
		}
		logs[strings.TrimSuffix(filepath.Base(path), ".log")] = end
	}
	return logs
}
