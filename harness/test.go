package harness

import (
	"os"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// Test sweeps a target and fails the test for every violation, with its
// evidence and the file that replays it. An unknown verdict fails the test too:
// something that was planned was not exercised. The package needs a TestMain,
// because the harness starts the test binary again for its own roles and for
// the target's Go functions:
//
//	func TestMain(m *testing.M) { harness.Main(m, target()) }
func Test(t testing.TB, target targets.Target, o Options) {
	t.Helper()
	if os.Getenv(mainVariable) == "" {
		t.Fatal("harness.Test starts this test binary again for the processes under test; add to the package:\n\n" +
			"\tfunc TestMain(m *testing.M) { harness.Main(m, target) }\n")
	}
	result, err := Run(t.Context(), target, o)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	t.Log(report.Headline(result))
	for _, p := range result.Properties {
		if !p.Claimed {
			continue
		}
		for _, v := range p.Violations {
			t.Errorf("%s: %s\n%s", p.Name, v.Summary, strings.Join(report.Details(v), "\n"))
		}
	}
	if result.Verdict == properties.UnknownResult {
		t.Errorf("unknown: %s", strings.Join(report.Reasons(result), "\n"))
	}
}
