package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/targets"
)

func TestScenarioFilesAreThoseOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a.yml", "notes.txt", "c.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := scenarioFiles(dir)
	if want := []string{filepath.Join(dir, "a.yml"), filepath.Join(dir, "b.yaml")}; err != nil || !slices.Equal(files, want) {
		t.Errorf("%v, %v", files, err)
	}
	if files, err := scenarioFiles(filepath.Join(dir, "none")); len(files) != 0 || err != nil {
		t.Errorf("%v, %v", files, err)
	}
	if _, err := scenarioFiles(filepath.Join(dir, "notes.txt")); err == nil {
		t.Error("a file is no folder")
	}
}

func TestAFileIsForItsTarget(t *testing.T) {
	dir := t.TempDir()
	manifest := filepath.Join(dir, "outbox.yaml")
	target := func(name, ref string) (t targets.Target) {
		t.Name, t.Ref = name, ref
		return t
	}
	for _, c := range []struct {
		names  string
		target targets.Target
		fits   bool
	}{
		{"", target("mine", ""), true},
		{"mine", target("mine", ""), true},
		{"mine", target("outbox-17", "mine"), true},
		{"yours", target("mine", manifest), false},
		{dir + "/sub/../outbox.yaml", target("mine", manifest), true},
		{dir + "/sub/outbox.yaml", target("mine", manifest), false},
	} {
		if got := isFor(scenario.Scenario{Target: c.names}, c.target); got != c.fits {
			t.Errorf("a file for %q fits %s (%s): %t", c.names, c.target.Name, c.target.Ref, got)
		}
	}
}

// A file that fails again is told with its evidence, one whose points are no more
// is no pass, and one for another target is refused with the mend.
func TestFilesAreReplayed(t *testing.T) {
	s := borrow(t)
	file := func(text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "found.yaml")
		if err := os.WriteFile(path, []byte("version: 1\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lost := file(faulted(oneOrder, at(`app.0/postgres "commit" #1 unanswered`, "kill")))
	o := Options{Out: t.TempDir()}

	wrong, err := s.regress(t.Context(), reference(t), lost, o)
	if err != nil || len(wrong) > 0 {
		t.Errorf("the reference: %v, %v", wrong, err)
	}
	wrong, err = s.regress(t.Context(), find(t, "save-then-send").Target, lost, o)
	told := strings.Join(wrong, "\n")
	if err != nil || !strings.Contains(told, "found.yaml fails: 1 of 1") || !strings.Contains(told, "o1 was committed and its event never reached") ||
		!strings.Contains(told, `app.0/postgres "commit" #1`) {
		t.Errorf("the mutant: %v\n%s", err, told)
	}
	gone := file(faulted(oneOrder, at(`app.0/postgres "insert gone" #1 before`, "kill")))
	wrong, err = s.regress(t.Context(), reference(t), gone, o)
	if err != nil || len(wrong) == 0 || !strings.Contains(wrong[0], "shows nothing: if the outbox has changed") {
		t.Errorf("a point that is no more: %v, %v", wrong, err)
	}
	_, err = s.regress(t.Context(), reference(t), file("target: another\n"+oneOrder), o)
	if err == nil || !strings.Contains(err.Error(), "is for the target another, and this test is of polling: leave its line target out") {
		t.Errorf("another's file: %v", err)
	}
}
