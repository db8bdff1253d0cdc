//go:build linux

package proc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary started again is whatever this variable says.
const playVariable = "PROC_TEST_PLAY"

func TestMain(m *testing.M) {
	switch play := os.Getenv(playVariable); play {
	case "":
		goleak.VerifyTestMain(m)
	case "guard":
		if err := GuardMain(os.Stdin, os.Stdout, undoers()); err != nil {
			os.Exit(1)
		}
	case "harness":
		standIn()
	case "flood":
		flood()
	case "echo":
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			fmt.Println("echo", in.Text())
		}
	default:
		fmt.Fprintln(os.Stderr, "nobody plays", play)
		os.Exit(99)
	}
}

// undoers is what the guard of these tests can undo: both leave a trace in a
// file so that the order shows.
func undoers() map[string]Undoer {
	return map[string]Undoer{
		"note": func(_ context.Context, arg string) error {
			path, word, _ := strings.Cut(arg, "|")
			f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(f, word)
			return errors.Join(err, f.Close())
		},
		"fail":  func(context.Context, string) error { return errors.New("cannot be undone") },
		"panic": func(context.Context, string) error { panic("broken") },
	}
}

// standIn is a harness that will be killed: it starts a guard and processes of
// every kind, says who they are, and waits for its death.
func standIn() {
	ctx := context.Background()
	exe, err := os.Executable()
	check(err)
	g, err := StartGuard(ctx, exe, []string{playVariable + "=guard"})
	check(err)
	dir := os.Getenv("PROC_TEST_DIR")
	for _, word := range []string{"first", "second"} {
		_, err = g.Undo("note", filepath.Join(dir, "undone")+"|"+word)
		check(err)
	}
	release, err := g.Undo("note", filepath.Join(dir, "undone")+"|released")
	check(err)
	release()
	end, script := os.Getenv("PROC_TEST_END"), family(dir)
	if end == "exit" {
		// Whoever wipes its environment is found by its parent, and not in the
		// moment between a look and the parent's death.
		script = strings.ReplaceAll(script, "env -i ", "")
	}
	p, err := Start(ctx, Spec{Name: "family", Argv: []string{"sh", "-c", script}, Guard: g})
	check(err)
	// Nobody knows the group of this one, as if we had died right after its fork.
	q, err := Start(ctx, Spec{Name: "unregistered", Argv: []string{"sleep", "1000"}, Guard: g})
	check(err)
	g.forget(q.Pid())
	check(json.NewEncoder(os.Stdout).Encode([]int{g.cmd.Process.Pid, p.Pid(), q.Pid()}))
	if end == "exit" {
		// At any moment of the family's start.
		time.Sleep(rand.N(10 * time.Millisecond))
		os.Exit(0)
	}
	<-p.Done()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
}

// family is a shell script: a child in the group, a grandchild in a session of
// its own, and one that besides lost its environment; each writes its number
// into a file named for it.
func family(dir string) string {
	return fmt.Sprintf(`cd %q
sh -c 'echo $$ > child.tmp; mv child.tmp child; exec sleep 1000' &
setsid sh -c 'echo $$ > session.tmp; mv session.tmp session; exec sleep 1000' &
setsid env -i sh -c 'echo $$ > bare.tmp; mv bare.tmp bare; exec sleep 1000' &
exec sleep 1000`, dir)
}

// members reads the numbers that a family left, once all are there.
func members(t *testing.T, dir string, names ...string) []int {
	t.Helper()
	var pids []int
	for _, name := range names {
		eventually(t, name+" to have started", func() bool {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return false
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
			return true
		})
	}
	return pids
}

func alive(pid int) bool {
	var r reader
	s, ok := r.status(pid)
	return ok && !s.dead
}

// livingIn lists the processes that work in a folder.
func livingIn(dir string) []int {
	var r reader
	var pids []int
	for _, s := range r.living(0) {
		if cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(s.pid), "cwd")); err == nil && cwd == dir {
			pids = append(pids, s.pid)
		}
	}
	return pids
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func begin(t *testing.T, s Spec) *Process {
	t.Helper()
	p, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func playing(play string, more ...string) []string {
	return append(append(os.Environ(), playVariable+"="+play), more...)
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func guard(t *testing.T) *Guard {
	t.Helper()
	g, err := StartGuard(t.Context(), self(t), []string{playVariable + "=guard"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// flood writes as much as it is told to, on standard error and then on standard
// output.
func flood() {
	lines, err := strconv.Atoi(os.Getenv("PROC_TEST_LINES"))
	check(err)
	for i := range lines {
		fmt.Fprintf(os.Stderr, "line %d secret-word\n", i)
	}
	fmt.Println("flooded")
	for i := range lines {
		fmt.Println("out", i)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(time.Minute)
}
