package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// Test replays the scenario files in the package's folder [Regressions], sweeps a
// target, and fails the test for every violation, with its evidence and the file
// that replays it. An unknown verdict fails the test too: something that was
// planned was not exercised. A file is replayed Options.Replays times, at least
// once, in a subtest of its name if t is a *testing.T; failures that were found
// once are kept there. The package needs a TestMain, because the harness starts
// the test binary again for its own roles and for the target's Go functions:
//
//	func TestMain(m *testing.M) { harness.Main(m, target()) }
func Test(t testing.TB, target targets.Target, o Options) {
	t.Helper()
	if os.Getenv(mainVariable) == "" {
		t.Fatal("harness.Test starts this test binary again for the processes under test; add to the package:\n\n" +
			"\tfunc TestMain(m *testing.M) { harness.Main(m, target) }\n")
	}
	files, err := scenarioFiles(Regressions)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("outboxtest: %v", err)
		}
	}()
	for _, file := range files {
		replay := func(t testing.TB) {
			t.Helper()
			wrong, err := s.regress(t.Context(), target, file, o)
			if err != nil {
				t.Errorf("outboxtest: %v", err)
			} else if len(wrong) > 0 {
				t.Error(strings.Join(wrong, "\n"))
			}
		}
		if parent, ok := t.(*testing.T); ok {
			name := filepath.Base(file)
			parent.Run(strings.TrimSuffix(name, filepath.Ext(name)), func(t *testing.T) { replay(t) })
		} else {
			replay(t)
		}
	}
	result, err := s.Run(t.Context(), target, o)
	if err != nil {
		t.Errorf("outboxtest: %v", err)
	}
	if err != nil && len(result.Properties) == 0 {
		return
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
