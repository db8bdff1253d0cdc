//go:build linux

package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEnds(t *testing.T) {
	for _, test := range []struct {
		name, script, is string
		state            State
	}{
		{"at once", "exit 0", "exited with status 0", State{Exited: true}},
		{"with a status", "exit 7", "exited with status 7", State{Exited: true, Code: 7}},
		{"by a signal", "kill -TERM $$", "was ended by the signal: terminated", State{Exited: true, Code: -1, Signal: "terminated"}},
		{"by its own SIGKILL", "kill -KILL $$", "was ended by the signal: killed", State{Exited: true, Code: -1, Signal: "killed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := begin(t, Spec{Name: "x", Argv: []string{"sh", "-c", "echo last words; " + test.script}})
			<-p.Done()
			if got := p.State(); got != test.state || got.String() != test.is {
				t.Errorf("got %+v %q, want %+v %q", got, got, test.state, test.is)
			}
			if got := p.Tail(); got != "last words\n" {
				t.Errorf("tail %q", got)
			}
			if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("a signal to the dead: %v", err)
			}
			if err := p.Kill(); err != nil {
				t.Errorf("killing the dead: %v", err)
			}
		})
	}
}

func TestKillEndsTheWholeFamily(t *testing.T) {
	for _, test := range []struct {
		name  string
		tree  bool
		names []string
	}{
		{"group and session", false, []string{"child", "session"}},
		{"tree", true, []string{"child", "session", "bare"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			p := begin(t, Spec{Name: "family", Argv: []string{"sh", "-c", family(dir)}, Tree: test.tree})
			all := members(t, dir, "child", "session", "bare")
			t.Cleanup(func() { _ = syscall.Kill(all[2], syscall.SIGKILL) })
			if p.State().Exited {
				t.Fatal("ended before it was killed")
			}
			began := time.Now()
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			t.Logf("killed in %v", time.Since(began))
			for i := range test.names {
				if alive(all[i]) {
					t.Errorf("%s survived", test.names[i])
				}
			}
			if got := p.State(); got.Signal != "killed" {
				t.Errorf("state %+v", got)
			}
			if err := p.Kill(); err != nil {
				t.Errorf("the second kill: %v", err)
			}
		})
	}
}

func TestEndOfLeaderEndsTheRest(t *testing.T) {
	dir := t.TempDir()
	script := "cd " + dir + "; setsid sh -c 'echo $$ > s.tmp; mv s.tmp s; exec sleep 1000' & while [ ! -e " + dir + "/s ]; do :; done"
	q := begin(t, Spec{Name: "leader", Argv: []string{"sh", "-c", script}})
	<-q.Done()
	if pid := members(t, dir, "s")[0]; alive(pid) {
		t.Error("what the leader left behind is alive")
	}
}

func TestManyKillsAtOnce(t *testing.T) {
	p := begin(t, Spec{Name: "x", Argv: []string{"sleep", "1000"}})
	results := make(chan error)
	for range 8 {
		go func() { results <- p.Kill() }()
	}
	for range 8 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

func TestStopAndContinue(t *testing.T) {
	p := begin(t, Spec{Name: "echo", Argv: []string{self(t)}, Env: playing("echo"), Stdin: true, Stdout: true})
	ask := func() Line {
		t.Helper()
		if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
			t.Fatal(err)
		}
		line, err := p.ReadLine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := ask(); got.Text != "echo hello" {
		t.Fatalf("got %q", got.Text)
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var r reader
	eventually(t, "it to stop", func() bool {
		line, err := r.read("/proc/" + itoa(p.Pid()) + "/stat")
		return err == nil && strings.Contains(string(line), ") T ")
	})
	if _, err := io.WriteString(p.Stdin(), "asleep\n"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if line, err := p.ReadLine(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stopped process answered %q, %v", line.Text, err)
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if line, err := p.ReadLine(t.Context()); err != nil || line.Text != "echo asleep" {
		t.Errorf("got %q, %v", line.Text, err)
	}
	// A stopped process dies as well.
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ReadLine(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := io.WriteString(p.Stdin(), "dead\n"); err == nil {
		t.Error("a dead process took a line")
	}
}

func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "not-executable")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		spec Spec
		want string
	}{
		{"nothing", Spec{}, "no command given"},
		{"not on the path", Spec{Argv: []string{"no-such-program"}}, "start relay.0: no-such-program is not on the PATH"},
		{"another path", Spec{Argv: []string{"sh"}, Env: []string{"PATH=" + dir}}, "not on the PATH"},
		{"absent", Spec{Argv: []string{"./absent"}, Dir: dir}, "no such file"},
		{"not executable", Spec{Argv: []string{"./not-executable"}, Dir: dir}, "permission denied"},
		{"no directory", Spec{Argv: []string{"sh"}, Dir: filepath.Join(dir, "absent")}, "its working directory"},
		{"a file for a directory", Spec{Argv: []string{"sh"}, Dir: script}, "is not a directory"},
		{"no log", Spec{Argv: []string{"sh"}, Log: filepath.Join(dir, "absent", "log")}, "open its log"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.spec.Name = "relay.0"
			p, err := Start(t.Context(), test.spec)
			if err == nil {
				_ = p.Kill()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want %q in it", err, test.want)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ended, Spec{Argv: []string{"sh"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestEnvironmentAndUser(t *testing.T) {
	spec := Spec{
		Name: "env", Argv: []string{"sh", "-c", "echo $A $OUTBOXTEST_RUN.; [ -n \"$OUTBOXTEST_PROCESS\" ] && id -u"},
		Env: []string{"A=b", "PATH=" + os.Getenv("PATH"), "OUTBOXTEST_RUN=another"},
	}
	want := "b .\n" + itoa(os.Getuid()) + "\n"
	if os.Getuid() == 0 {
		spec.User, want = &Credential{UID: 65534, GID: 65534}, "b .\n65534\n"
	}
	p := begin(t, spec)
	<-p.Done()
	if got := p.Tail(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
