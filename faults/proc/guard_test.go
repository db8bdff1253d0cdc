//go:build linux

package proc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The stand-in harness dies in every way there is; nothing may be left.
func TestNothingOutlivesTheHarness(t *testing.T) {
	for _, end := range []string{"kill", "exit"} {
		t.Run(end, func(t *testing.T) {
			dir := t.TempDir()
			harness := begin(t, Spec{
				Name: "harness", Argv: []string{self(t)}, Stdout: true,
				Env: playing("harness", "PROC_TEST_DIR="+dir, "PROC_TEST_END="+end),
			})
			line, err := harness.ReadLine(t.Context())
			if err != nil {
				t.Fatalf("%v; it said %s", err, harness.Tail())
			}
			var pids []int
			if err := json.Unmarshal([]byte(line.Text), &pids); err != nil {
				t.Fatal(err)
			}
			watcher := pids[0]
			if end == "kill" {
				pids = append(pids, members(t, dir, "child", "session", "bare")...)
				// Only it, as the kernel's memory killer does; not the group.
				for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
					if err := syscall.Kill(watcher, signal); err != nil {
						t.Fatal(err)
					}
				}
				if err := syscall.Kill(harness.Pid(), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "the guard to be through", func() bool { return !alive(watcher) })
			for i, pid := range pids {
				if alive(pid) {
					t.Errorf("process number %d of the run is alive", i)
				}
			}
			// In whatever state of its start the family was met.
			for _, pid := range livingIn(dir) {
				t.Errorf("process %d is alive", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			text, err := os.ReadFile(filepath.Join(dir, "undone"))
			if err != nil || string(text) != "second\nfirst\n" {
				t.Errorf("undone %q, %v; want the second and then the first", text, err)
			}
		})
	}
}

func TestGuardClose(t *testing.T) {
	dir := t.TempDir()
	g := guard(t)
	p := begin(t, Spec{Name: "family", Argv: []string{"sh", "-c", family(dir)}, Guard: g})
	stranger := begin(t, Spec{Name: "stranger", Argv: []string{"sleep", "1000"}})
	all := members(t, dir, "child", "session", "bare")
	for _, kind := range []string{"fail", "note", "panic"} {
		if _, err := g.Undo(kind, filepath.Join(dir, "undone")+"|pass-word"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Undo("unheard-of", ""); err == nil || !strings.Contains(err.Error(), "unheard-of") {
		t.Errorf("got %v", err)
	}
	err := g.Close()
	if err == nil || !strings.Contains(err.Error(), "undo by fail: cannot be undone") || !strings.Contains(err.Error(), "undo by panic: it panicked") {
		t.Errorf("got %v", err)
	}
	if again := g.Close(); again == nil || again.Error() != err.Error() {
		t.Errorf("the second close: %v", again)
	}
	<-p.Done()
	for i, pid := range all {
		if alive(pid) {
			t.Errorf("member %d is alive", i)
		}
	}
	if stranger.State().Exited {
		t.Error("the guard killed a stranger")
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "undone")); string(text) != "pass-word\n" {
		t.Errorf("undone %q: one failure keeps the others from being undone", text)
	}
	select {
	case <-g.Done():
		t.Error("an orderly end is no death")
	default:
	}
	if _, err := Start(t.Context(), Spec{Name: "late", Argv: []string{"sleep", "1000"}, Guard: g}); err == nil || !strings.Contains(err.Error(), "it is closed") {
		t.Errorf("a start under a closed guard: %v", err)
	}
	if _, err := g.Undo("note", ""); err == nil {
		t.Error("a closed guard took an undo")
	}
}

func TestGuardForgetsTheDead(t *testing.T) {
	g := guard(t)
	p := begin(t, Spec{Name: "x", Argv: []string{"true"}, Guard: g})
	<-p.Done()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func TestGuardDies(t *testing.T) {
	g := guard(t)
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-g.Done()
	p, err := Start(t.Context(), Spec{Name: "orphan", Argv: []string{"sleep", "1000"}, Guard: g})
	if err == nil || !strings.Contains(err.Error(), "it is gone") {
		t.Errorf("a start under a dead guard: %v, %v", p, err)
	}
}

func TestNoGuard(t *testing.T) {
	for play, want := range map[string]string{
		"nobody": "it ended at once: exit status 99",
		"echo":   "instead of being ready",
	} {
		if g, err := StartGuard(t.Context(), self(t), []string{playVariable + "=" + play}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", play, g, err)
		}
	}
	if _, err := StartGuard(t.Context(), filepath.Join(t.TempDir(), "absent"), nil); err == nil {
		t.Error("an absent program is no guard")
	}
	t.Setenv(guardVariable, "1")
	if _, err := StartGuard(t.Context(), self(t), nil); err == nil || !strings.Contains(err.Error(), "TestMain") {
		t.Errorf("a guard that is a harness: %v", err)
	}
}

// A number that was given to another process is not killed.
func TestGuardMindsReusedNumbers(t *testing.T) {
	stranger := begin(t, Spec{Name: "stranger", Argv: []string{"sleep", "1000"}})
	g := guard(t)
	if err := g.register(stranger.Pid(), startTime(stranger.Pid())-1); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if stranger.State().Exited || !alive(stranger.Pid()) {
		t.Error("the guard killed a stranger")
	}
}
