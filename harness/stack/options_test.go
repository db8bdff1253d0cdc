package stack

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakePostgres is a folder with a postgres that only tells its version.
func fakePostgres(t *testing.T, dir, says string, programs ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindBinaries(t *testing.T) {
	root := t.TempDir()
	place := func(name string) string { return filepath.Join(root, name, "bin") }
	fakePostgres(t, place("9"), "postgres (PostgreSQL) 9.6.24", "postgres", "initdb")
	fakePostgres(t, place("15"), "postgres (PostgreSQL) 15.4 (Debian)", "postgres", "initdb")
	fakePostgres(t, place("17"), "postgres (PostgreSQL) 17beta1", "postgres", "initdb")
	fakePostgres(t, place("18"), "postgres (PostgreSQL) 18.1", "postgres")
	fakePostgres(t, place("other"), "something else", "postgres", "initdb")
	if err := os.MkdirAll(place("linked"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(place("15"), "postgres"), filepath.Join(place("linked"), "postgres")); err != nil {
		t.Fatal(err)
	}
	all := []string{filepath.Join(root, "*", "bin")}
	for _, test := range []struct {
		name, path string
		places     []string
		dir        string
		major      int
		err        string
	}{
		{"the newest of the usual places", "", all, place("17"), 17, ""},
		{"the path before them", place("15"), all, place("15"), 15, ""},
		{"a link on the path", place("linked"), nil, place("15"), 15, ""},
		{"half an installation on the path", place("18"), all, place("17"), 17, ""},
		{"half an installation", place("18"), nil, "", 0, "no initdb"},
		{"too old", "", []string{place("9")}, "", 0, "version 13 or newer is needed"},
		{"another program", "", []string{place("other")}, "", 0, "not a PostgreSQL"},
		{"nothing", root + ":relative", []string{filepath.Join(root, "absent")}, "", 0, "no postgres on the PATH"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := findBinaries(t.Context(), test.path, test.places)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				return
			}
			want, _ := filepath.EvalSymlinks(test.dir)
			if err != nil || got.dir != want || got.major != test.major {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	_, err := Start(t.Context(), Options{Postgres: Local, PostgresBin: t.TempDir(), Role: noRole})
	var missing *MissingError
	if !errors.Is(err, ErrMissing) || !errors.As(err, &missing) || len(missing.Tried) != 1 {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"no Postgres to be had:\n  binaries of this machine: ", "\n  mend: install PostgreSQL"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %s", want, err)
		}
	}
}

// noRole starts a program that is no broker.
func noRole(string) (argv, env []string) { return []string{"echo", "hello"}, nil }

func TestWrongOptions(t *testing.T) {
	for _, test := range []struct {
		name string
		o    Options
		want string
	}{
		{"run id", Options{RunID: "Run_1"}, "the run id"},
		{"postgres", Options{Postgres: "mysql", Role: noRole}, `postgres "mysql" is none of`},
		{"postgres URL", Options{Postgres: "postgres://u:hunter2@h:port/", Role: noRole}, "write it as postgres://"},
		{"socket", Options{Postgres: "postgres:///db?host=/tmp&password=hunter2", Role: noRole}, "Unix socket"},
		{"away", Options{Postgres: "postgres://u:hunter2@127.0.0.1:1/", Role: noRole}, "connect to Postgres"},
		{"broker", Options{Postgres: "mysql", Broker: "kafka"}, `broker "kafka" is none of`},
		{"broker URL", Options{Postgres: "mysql", Broker: "nats://u:hunter2@h:port"}, "write it as nats://"},
		{"broker away", Options{Postgres: "mysql", Broker: "nats://u:hunter2@127.0.0.1:1"}, "connect to the broker at 127.0.0.1:1"},
		{"no role", Options{Postgres: "mysql"}, "Options.Role"},
		{"another role", Options{Postgres: "mysql", Role: noRole}, "does not call stack.NATSMain"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := Start(t.Context(), test.o)
			if err == nil {
				_ = s.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %s, want %q", err, test.want)
			}
		})
	}
}

func TestPassable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := passable(dir); err == nil || !strings.Contains(err.Error(), filepath.Dir(dir)+": use another folder") {
		t.Errorf("got %v", err)
	}
}

func TestRedactURL(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://u:hunter2@h:1/d?sslmode=disable": "postgres://u:xxxxx@h:1/d?sslmode=disable",
		"postgres://u@h/d?password=hunter2":          "postgres://u@h/d?password=xxxxx",
		"postgres://u:hunter2@h:port/":               "postgres://...",
		"nats://hunter2@h:4222":                      "nats://xxxxx@h:4222",
		"nats://h:4222":                              "nats://h:4222",
	} {
		if got := redactURL(in); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestUndoRefuses(t *testing.T) {
	table := Undo()
	for kind, args := range map[string][]string{
		undoRemoveAll:    {"", "/", "relative", "/x/.."},
		undoDropDatabase: {"", "{}", `{"url":"postgres://h/","name":"customers"}`},
		undoDropStream:   {"", "{}", `{"url":"nats://h","name":"ORDERS"}`},
	} {
		for _, arg := range args {
			if err := table[kind](t.Context(), arg); err == nil {
				t.Errorf("%s %q was done", kind, arg)
			}
		}
	}
}

// testTaken has somebody else take a port first.
func testTaken(t *testing.T, s *Stack) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Postgres.Kill(), s.Broker.Kill()); err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	taken, err := s.Postgres.cluster.startOn(t.Context(), port)
	if !taken || err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("postgres: taken %v, %v", taken, err)
	}
	ours := s.Broker.child.config.Port
	s.Broker.child.config.Port = port
	if _, err := s.Broker.child.start(t.Context()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("nats: %v", err)
	}
	s.Broker.child.config.Port = ours
	if err := errors.Join(l.Close(), s.Postgres.Restart(context.Background()), s.Broker.Restart(context.Background())); err != nil {
		t.Error(err)
	}
}

// The library that downloads is stopped once the binaries are there: it must not
// make a cluster of its own. Here they are there from the start.
func TestFetchMakesNoCluster(t *testing.T) {
	unpacked, scratch := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	fakePostgres(t, filepath.Join(unpacked, "bin"), "never run", "postgres", "initdb", "pg_ctl")
	if err := fetch(t.TempDir(), unpacked, scratch); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(scratch, "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it made %v, %v", left, err)
	}
	if left, err = filepath.Glob(filepath.Join(os.TempDir(), "embedded*")); err != nil || len(left) > 0 {
		t.Errorf("the library left %v, %v", left, err)
	}
	if err := os.Remove(filepath.Join(unpacked, "bin", "initdb")); err != nil {
		t.Fatal(err)
	}
	if err := fetch(t.TempDir(), unpacked, scratch); err == nil {
		t.Error("it found no binaries and said nothing")
	}
}
