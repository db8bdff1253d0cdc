package main

import (
	"bufio"
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
)

// TestAnInterruptedRunEndsCleanly interrupts a run in the middle of its trials.
func TestAnInterruptedRunEndsCleanly(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal os.Signal
	}{{"Ctrl-C", os.Interrupt}, {"SIGTERM", syscall.SIGTERM}} {
		t.Run(c.name, func(t *testing.T) {
			// The roles do not get our own variables, OUTBOXTEST_*.
			mark := "LEFTOVER_OF=" + t.TempDir()
			cmd := command(t, "run", "polling", "--jobs", "1", "--sweep=false", "--explore", "10m", "--json", "result.json")
			cmd.Env = append(cmd.Env, mark)
			said, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			for lines := bufio.NewScanner(said); lines.Scan(); {
				text.WriteString(lines.Text() + "\n")
				if strings.Contains(lines.Text(), ": explore ") && !strings.Contains(text.String(), "stopping") {
					if err := cmd.Process.Signal(c.signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != statusInterrupted {
				t.Errorf("it ended with %v, want the exit status %d; it said:\n%s", err, statusInterrupted, &text)
			}
			if !strings.Contains(text.String(), "outboxtest: stopping and cleaning up\n") || !strings.HasSuffix(text.String(), "outboxtest: interrupted\n") {
				t.Errorf("it said:\n%s", &text)
			}
			if left, err := filepath.Glob(filepath.Join(cmd.Dir, "*")); err != nil || len(left) > 0 {
				t.Errorf("it left %v (%v)", left, err)
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

func (b *lockedBuffer) waitFor(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		text := b.text.String()
		b.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never said %q, only:\n%s", want, text)
		}
	}
}
