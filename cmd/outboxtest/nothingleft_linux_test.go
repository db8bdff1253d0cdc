package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
)

// withGrandchildren is an outbox whose roles leave processes behind that are in
// sessions of their own, beside the role and instead of its parent.
const withGrandchildren = `
app: {start: [sh, -c, 'setsid sleep 1000 & exec polling-app'], stdio: true, abort: true}
relay: {start: [sh, -c, '(setsid sh -c "sleep 1001 & sleep 1002" &) ; polling-relay'], replicas: 2}
consumer:
  start: [sh, -c, 'nohup sleep 1003 & exec polling-consumer']
  names: [kitchen, billing]
  applied: SELECT event_id, consumer, count(*) FROM effects GROUP BY event_id, consumer
`

// ends are the ways in which a run comes to its end.
var ends = []struct {
	name   string
	args   []string
	end    syscall.Signal // 0 waits
	status int
}{
	{"kill -9", []string{"--sweep=false", "--explore", "10m"}, syscall.SIGKILL, -1},
	{"Ctrl-C", []string{"--sweep=false", "--explore", "10m"}, syscall.SIGINT, statusInterrupted},
	{"by itself", []string{"--sweep=false", "--explore-trials", "10"}, 0, statusPass},
}

// TestNothingIsLeft ends runs in every way, in the middle of a trial, and looks
// for what they made: on this machine, and on servers given by URL.
func TestNothingIsLeft(t *testing.T) {
	given := startServers(t)
	for _, servers := range []string{"own servers", "servers by URL"} {
		for _, e := range ends {
			t.Run(servers+", "+e.name, func(t *testing.T) {
				// The roles do not get our own variables, OUTBOXTEST_*.
				mark := "LEFTOVER_OF=" + t.TempDir()
				args := append([]string{"run", "target.yaml", "--jobs", "1", "--seed", "1"}, e.args...)
				if servers == "servers by URL" {
					args = append(args, "--postgres", given.postgres, "--broker", given.broker)
				}
				cmd := command(t, args...)
				cmd.Env = append(cmd.Env, mark)
				writeManifest(t, cmd.Dir, withGrandchildren)
				before := given.holdings(t)
				var said bytes.Buffer
				cmd.Stderr = &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				made := lookInTrial(t, cmd, mark)
				own := 0
				if servers == "own servers" {
					own = 1
				}
				if len(made.folders) != 1 || len(made.segments) != own || len(made.ports) < 2 {
					t.Errorf("it made %+v, want a folder, %d segments, and ports", made, own)
				}
				if servers == "servers by URL" && slices.Equal(before, given.holdings(t)) {
					t.Error("it made nothing on the servers")
				}
				if e.end != 0 {
					if err := cmd.Process.Signal(e.end); err != nil {
						t.Fatal(err)
					}
				}
				_ = cmd.Wait()
				if got := cmd.ProcessState.ExitCode(); got != e.status {
					t.Errorf("it ends with %d, want %d:\n%s", got, e.status, &said)
				}
				made.gone(t)
				goneSoon(t, mark)
				eventually(t, "the servers to hold what they held", func() []string {
					now := given.holdings(t)
					if slices.Equal(now, before) {
						return nil
					}
					return now
				})
				left, err := filepath.Glob(filepath.Join(cmd.Dir, "*"))
				want := []string{filepath.Join(cmd.Dir, "schema.sql"), filepath.Join(cmd.Dir, "target.yaml")}
				r, none := report.ReadFile(filepath.Join(cmd.Dir, ".outboxtest"))
				if e.end == syscall.SIGINT && none == nil && r.Verdict != properties.UnknownResult {
					t.Errorf("an interrupted run is %s", r.Verdict)
				}
				if e.end == 0 || e.end == syscall.SIGINT && none == nil {
					// A run that comes to its end leaves its result, under --out alone; an
					// interrupted one if it had judged a trial by then.
					want = append([]string{filepath.Join(cmd.Dir, ".outboxtest")}, want...)
				}
				if err != nil || !slices.Equal(left, want) {
					t.Errorf("the working directory holds %v (%v)", left, err)
				}
			})
		}
	}
}

// lookInTrial waits until the roles run with all that they left behind, and
// looks.
func lookInTrial(t *testing.T, cmd *exec.Cmd, mark string) (made leftovers) {
	t.Helper()
	wanted := []string{"polling-app", "polling-relay", "polling-consumer", "sleep 1000,", "sleep 1001,", "sleep 1002,", "sleep 1003,"}
	eventually(t, "a trial to be under way", func() (missing []string) {
		made = lookAt(t, cmd.Process.Pid, mark)
		if slices.Contains(made.segments, "") {
			missing = append(missing, "the segment of a cluster")
		}
		var all strings.Builder
		for _, identity := range made.processes {
			all.WriteString(identity + "\n")
		}
		for _, name := range wanted {
			if !strings.Contains(all.String(), name) {
				missing = append(missing, name)
			}
		}
		return missing
	})
	return made
}

// servers are a Postgres and a broker that are somebody else's to a run.
type servers struct {
	postgres, broker string
	js               jetstream.JetStream
}

// startServers starts servers that hold things of others, some of them with
// names like those of a run.
func startServers(t *testing.T) *servers {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	role := func(name string) (argv, env []string) { return []string{self}, []string{roles.Variable + "=" + name} }
	_, env := role(roles.Guard)
	guard, err := proc.StartGuard(t.Context(), self, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := guard.Close(); err != nil {
			t.Error(err)
		}
	})
	// The folder of a test is closed to the server's own user.
	s, err := stack.Start(t.Context(), stack.Options{Guard: guard, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	user, password := s.Postgres.Credentials()
	given := &servers{
		postgres: fmt.Sprintf("postgres://%s:%s@%s/postgres?sslmode=disable", user, password, s.Postgres.Addr()),
		broker:   s.Broker.URL(""),
	}
	conn, err := nats.Connect(given.broker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if given.js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bystander", "outboxtest_bystander_1"} {
		given.query(t, "CREATE DATABASE "+name)
		_, err := given.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := given.js.Publish(t.Context(), name+".1", []byte("of others")); err != nil {
			t.Fatal(err)
		}
	}
	return given
}

func (s *servers) query(t *testing.T, sql string) (values []string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, s.postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		t.Fatal(err)
	}
	values, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// holdings are everything that a run could make on the servers, and the
// connections that it could leave.
func (s *servers) holdings(t *testing.T) []string {
	t.Helper()
	all := s.query(t, `SELECT 'database ' || datname FROM pg_database
		UNION ALL SELECT 'role ' || rolname FROM pg_roles
		UNION ALL SELECT 'slot ' || slot_name FROM pg_replication_slots
		UNION ALL SELECT 'prepared ' || gid FROM pg_prepared_xacts
		UNION ALL SELECT 'connection to ' || datname FROM pg_stat_activity WHERE datname LIKE 'outboxtest_%'
		ORDER BY 1`)
	streams := s.js.ListStreams(t.Context())
	for info := range streams.Info() {
		all = append(all, fmt.Sprintf("stream %s of %d messages", info.Config.Name, info.State.Msgs))
	}
	if err := streams.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
