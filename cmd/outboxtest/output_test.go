package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/harness/report"
)

func TestACellOfTheMatrixIsALine(t *testing.T) {
	r := report.Result{Version: 1, Target: "x", Matrix: []report.Row{{Run: "batch", Exchange: `relay.0/postgres "{" #1`, Cells: []report.Cell{
		{Moment: "before", Fault: "kill", Status: report.Exercised},
		{Moment: "after", Fault: "kill", Status: report.NotTried, Reason: "a reason, \"with\"\n}lines"},
	}}}}
	var b bytes.Buffer
	if err := (output{json: &b}).object(r); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`        {"moment": "before", "fault": "kill", "status": "exercised"},`,
		`        {"moment": "after", "fault": "kill", "status": "not_tried", "reason": "a reason, \"with\"\n}lines"}`,
	} {
		if !strings.Contains(b.String(), "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, b.String())
		}
	}
	plain, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b.Bytes()); err != nil || compact.String() != string(plain) {
		t.Errorf("the object changed (%v):\n%s", err, b.String())
	}
}
