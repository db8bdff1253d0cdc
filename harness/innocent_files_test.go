package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// The scenarios that a user can run are in the page that explains them, and the
// reference passes them.
func TestTheInnocentExamplesPass(t *testing.T) {
	const dir = "../docs/examples/innocent"
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(string(page), "| `"+name+"` | ") {
				t.Errorf("the page does not explain %s", name)
			}
			s := borrow(t)
			sc, err := scenario.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Replay(t.Context(), find(t, sc.Target).Target, sc, replays(t, 1), Options{Out: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if got.Passed != got.Runs || got.Judgement.Verdict != properties.Pass {
				t.Errorf("%d of %d passed:\n%s", got.Passed, got.Runs, strings.Join(report.Judgement(got.Judgement), "\n"))
			}
		})
	}
}
