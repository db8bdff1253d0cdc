package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/outboxtest/outboxtest/harness"
)

func TestMain(m *testing.M) {
	// The scripts' command is this test binary under another name, and the
	// harness starts it again for the roles.
	harness.Child(builtinTargets()...)
	commands := played()
	commands["outboxtest"] = main
	testscript.Main(m, commands)
}

// TestScripts runs testdata/*.txtar. In them `exits N outboxtest ...` runs the
// command and checks its exit status; what it printed is there for stdout and
// stderr.
func TestScripts(t *testing.T) {
	histories, err := filepath.Abs("../../properties/testdata")
	if err != nil {
		t.Fatal(err)
	}
	schema := pollingSchema(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HISTORIES", histories)
			e.Setenv("SCHEMA", schema)
			// The folder of a script is closed to other users, and the servers'
			// data belongs to one.
			e.Setenv("TMPDIR", "")
			return nil
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%v exits with %d, want %d", args[1:], got, want)
	}
}

// command is this test binary as the outboxtest command.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("outboxtest")
	if err != nil {
		t.Fatalf("testscript.Main puts the command on the PATH: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "TMPDIR=")
	return cmd
}
