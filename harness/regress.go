package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// Regressions is the folder, below the package under test, whose scenario files
// [Test] replays.
const Regressions = "testdata/outboxtest"

// scenarioFiles lists the scenario files of a folder by name; none when there is
// no such folder.
func scenarioFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for scenario files: %w", err)
	}
	var files []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// regress replays a scenario file, and returns what is wrong: the violations with
// their evidence, or why the file shows nothing any more. An error says that it
// could not be replayed, with the mend where the file needs one.
func (s *Session) regress(ctx context.Context, target targets.Target, path string, o Options) (wrong []string, err error) {
	sc, err := scenario.Load(path)
	if err != nil {
		return nil, err
	}
	if !isFor(sc, target) {
		return nil, &InputError{fmt.Sprintf("%s is for the target %s, and this test is of %s: leave its line target out, or move the file to the package that tests %[2]s",
			path, sc.Target, named(target))}
	}
	replayed, err := s.Replay(ctx, target, sc, max(1, o.Replays), o)
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	if replayed.Judgement.Verdict == properties.Pass {
		return nil, nil
	}
	wrong = append(wrong, fmt.Sprintf("%s fails: %d of %d", path, replayed.Failed, replayed.Runs))
	if replayed.Judgement.Verdict == properties.UnknownResult {
		wrong[0] = path + " shows nothing: if the outbox has changed and its points are no more, give it others or delete it"
	}
	return append(wrong, report.Judgement(replayed.Judgement)...), nil
}

// isFor reports whether a scenario names the target, or none.
func isFor(sc scenario.Scenario, target targets.Target) bool {
	if slices.Contains([]string{"", target.Ref, target.Name}, sc.Target) {
		return true
	}
	if !strings.ContainsAny(target.Ref, `./\`) {
		return false
	}
	mine, err := filepath.Abs(target.Ref)
	its, failed := filepath.Abs(sc.Target)
	return err == nil && failed == nil && mine == its
}

// named is what a scenario file calls the target.
func named(target targets.Target) string {
	if target.Ref != "" {
		return target.Ref
	}
	return target.Name
}
