package main

import (
	"bytes"
	"fmt"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
)

// tellJudgement writes what the properties say of one history.
func tellJudgement(b *bytes.Buffer, j properties.Judgement) {
	for _, line := range report.Judgement(j) {
		fmt.Fprintln(b, line)
	}
}
