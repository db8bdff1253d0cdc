package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
)

// TestAnInterruptedRunEndsCleanly interrupts a run in the middle of its trials.
// What it has found by then is printed, and written wherever a result goes.
func TestAnInterruptedRunEndsCleanly(t *testing.T) {
	for _, c := range []struct {
		name    string
		signal  os.Signal
		run     []string
		when    string // it is interrupted when it says so, or has written that
		verdict properties.Verdict
		printed string
	}{
		{"Ctrl-C", os.Interrupt, []string{"polling", "--jobs", "1", "--sweep=false", "--explore", "10m"},
			": explore ", properties.UnknownResult, "the run came to no end: "},
		{"SIGTERM", syscall.SIGTERM, []string{"polling", "--jobs", "1", "--sweep=false", "--explore", "10m"},
			": explore ", properties.UnknownResult, "the run came to no end: "},
		{"Ctrl-C after a violation", os.Interrupt, []string{"save-then-send", "--jobs", "2", "--replays", "1000"},
			".outboxtest/failures/save-then-send-no-lost-event-1.yaml", properties.Fail, "replay it: outboxtest replay .outboxtest/failures/save-then-send-no-lost-event-1.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The roles do not get our own variables, OUTBOXTEST_*.
			mark := "LEFTOVER_OF=" + t.TempDir()
			cmd := command(t, append(append([]string{"run"}, c.run...), "--json", "result.json")...)
			cmd.Env = append(cmd.Env, mark)
			var said lockedBuffer
			var printed bytes.Buffer
			cmd.Stderr, cmd.Stdout = &said, &printed
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if written, err := os.ReadFile(filepath.Join(cmd.Dir, c.when)); err == nil && len(written) > 0 || strings.Contains(said.get(), c.when) {
					break
				}
				if time.Now().After(deadline) {
					t.Errorf("it never came to %q", c.when)
					break
				}
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != statusInterrupted {
				t.Errorf("it ended with %v, want the exit status %d; it said:\n%s", err, statusInterrupted, said.get())
			}
			if !strings.Contains(said.get(), "outboxtest: stopping and cleaning up\n") || !strings.HasSuffix(said.get(), "outboxtest: interrupted\n") {
				t.Errorf("it said:\n%s", said.get())
			}
			if head := c.run[0] + ": " + string(c.verdict) + ", "; !strings.HasPrefix(printed.String(), head) || !strings.Contains(printed.String(), c.printed) {
				t.Errorf("it printed:\n%s", &printed)
			}
			if left, err := filepath.Glob(filepath.Join(cmd.Dir, "*")); err != nil || len(left) != 2 {
				t.Errorf("it left %v (%v), want its folder and what --json names", left, err)
			}
			for _, path := range []string{"result.json", filepath.Join(".outboxtest", report.ResultFile)} {
				if r, err := report.ReadFile(filepath.Join(cmd.Dir, path)); err != nil || r.Verdict != c.verdict {
					t.Errorf("%s says %s (%v), want %s", path, r.Verdict, err, c.verdict)
				}
			}
			goneSoon(t, mark)
		})
	}
}

// goneSoon fails when a process that inherited the variable outlives the
// command by more than the guard needs to see that it has nothing to do.
func goneSoon(t *testing.T, mark string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		alive := withVariable(t, mark)
		if len(alive) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %q", alive)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// withVariable returns the command lines of the processes that have a variable
// in their environment. It sees them on Linux only.
func withVariable(t *testing.T, mark string) []string {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range environments {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(mark)) {
			continue // gone meanwhile, or not ours
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err == nil && len(line) > 0 { // a zombie has none
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return found
}

func TestFurtherInterruptsSayWhatIsWaitedFor(t *testing.T) {
	var said lockedBuffer
	a := &app{errOut: &said, meter: newMeter(&said, false), waits: &waiting{}}
	ctx, stop := a.interruptible(t.Context())
	interrupt := func(until string) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		said.waitFor(t, until)
	}
	interrupt("stopping and cleaning up")
	if ctx.Err() == nil {
		t.Error("the context goes on")
	}
	interrupt("still waiting for the command to end; kill -9 ")
	a.waits.set("the servers")
	interrupt("still waiting for the servers; kill -9 ")
	stop()
}

// lockedBuffer is written by the listener and read by the test.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) get() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *lockedBuffer) waitFor(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		text := b.get()
		if strings.Contains(text, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never said %q, only:\n%s", want, text)
		}
	}
}
