package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/targets"
)

func sh(script string) []string { return []string{"sh", "-c", script} }

func TestBuildRunsEachCommandWhereItSays(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "web"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OUTBOXTEST_POSTGRES_URL", "an outer harness's")
	target := targets.Target{Dir: dir}
	target.Build = []targets.Command{
		{Run: sh(`echo "first $WORD $OUTBOXTEST_POSTGRES_URL" > ../made`), Dir: "web", Env: map[string]string{"WORD": "word"}},
		{Run: sh("echo second >> made")},
	}
	var told []int
	if err := Build(t.Context(), target, nil, filepath.Join(t.TempDir(), "logs"), func(done, total int) { told = append(told, done, total) }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "made"))
	if err != nil || string(text) != "first word \nsecond\n" {
		t.Errorf("made %q: %v", text, err)
	}
	if len(told) != 4 || told[0] != 0 || told[2] != 1 || told[3] != 2 {
		t.Errorf("told %v", told)
	}
}

func TestABuildThatFails(t *testing.T) {
	for _, c := range []struct {
		name string
		run  []string
		want []string
	}{
		{"by its status", sh("echo compiling; echo 'no such symbol' >&2; exit 2"), []string{"build[1] (sh -c ", "exited with status 2", "no such symbol"}},
		{"by a signal", sh("kill -9 $$"), []string{"build[1]", "killed", "its log is empty"}},
		{"without a program", []string{"./nowhere"}, []string{"build[1]", "nowhere", "in the manifest"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			target := targets.Target{Dir: dir}
			target.Build = []targets.Command{{Run: []string{"true"}}, {Run: c.run}, {Run: sh("touch after")}}
			err := Build(t.Context(), target, nil, t.TempDir(), nil)
			var wrong *TargetError
			if !errors.As(err, &wrong) {
				t.Fatalf("got %v", err)
			}
			for _, word := range c.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("nothing says %q: %v", word, err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "after")); err == nil {
				t.Error("it went on")
			}
		})
	}
}

// An interrupted command ends with its whole group.
func TestAnInterruptedCommandEndsWithItsChildren(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- command(ctx, StageBuild, proc.Spec{Name: "build[0]", Argv: sh("mkfifo alive; sleep 1000 > alive & sleep 1000"), Dir: dir, Log: filepath.Join(dir, "log")}, 0)
	}()
	alive, err := waitOpen(t, filepath.Join(dir, "alive"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alive.Close() }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	// It ends when nobody holds the other end any more.
	if _, err := alive.Read(make([]byte, 1)); err == nil {
		t.Error("something was written")
	}
}

// waitOpen opens a pipe that has a writer.
func waitOpen(t *testing.T, path string) (*os.File, error) {
	t.Helper()
	for {
		if _, err := os.Stat(path); err == nil {
			return os.Open(path)
		}
		if err := sleep(t.Context(), 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// A command that asks for something gets no answer, and no time without end. What
// it shows of a password is left out.
func TestACommandThatDoesNotEnd(t *testing.T) {
	err := command(t.Context(), StageBuild, proc.Spec{
		Name: "schema.run", Argv: sh("echo to postgres://u:hunter2@host; sleep 1000 # hunter2"), Secrets: []string{"hunter2"}, Log: filepath.Join(t.TempDir(), "log"),
	}, 300*time.Millisecond)
	var wrong *TargetError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "did not end within 300ms") || !strings.Contains(err.Error(), "to postgres://u:***@host") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("it tells the password: %v", err)
	}
}
