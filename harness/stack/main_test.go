package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/roles"
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roles.Variable); role {
	case "":
		goleak.VerifyTestMain(m)
	case roles.Guard:
		exitWith(proc.GuardMain(os.Stdin, os.Stdout, Undo()))
	case NATSRole:
		exitWith(NATSMain(context.Background()))
	case "harness":
		exitWith(standIn(context.Background()))
	default:
		exitWith(fmt.Errorf("nobody plays %s", role))
	}
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// rolesOf starts this test binary again as a role.
func rolesOf(exe string) func(string) ([]string, []string) {
	return func(name string) ([]string, []string) { return []string{exe}, []string{roles.Variable + "=" + name} }
}

// traces is what the stand-in says it has made.
type traces struct {
	Dir      string
	Data     string
	Database string
	Stream   string
	PIDs     []int
}

// standIn is a harness that will be killed: it has servers of its own, and a
// database and a stream on servers given by URL.
func standIn(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	start := rolesOf(exe)
	_, env := start(roles.Guard)
	g, err := proc.StartGuard(ctx, exe, env)
	if err != nil {
		return err
	}
	own, err := Start(ctx, Options{Postgres: Local, Role: start, Guard: g})
	if err != nil {
		return err
	}
	if err := own.Postgres.Template(ctx, schema); err != nil {
		return err
	}
	given, err := Start(ctx, Options{Postgres: os.Getenv("STACK_TEST_POSTGRES"), Broker: os.Getenv("STACK_TEST_BROKER"), Guard: g})
	if err != nil {
		return err
	}
	if err := given.Postgres.Template(ctx, schema); err != nil {
		return err
	}
	db, err := given.Postgres.Database(ctx)
	if err != nil {
		return err
	}
	stream, err := given.Broker.Stream(ctx, nil)
	if err != nil {
		return err
	}
	err = json.NewEncoder(os.Stdout).Encode(traces{
		Dir: own.Dir(), Data: own.Postgres.cluster.data, Database: db.Name, Stream: stream.Name,
		PIDs: []int{own.Postgres.cluster.running().Pid(), own.Broker.child.running().Pid()},
	})
	if err != nil {
		return err
	}
	<-g.Done() // for ever
	return nil
}

func schema(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "CREATE TABLE orders (id bigserial PRIMARY KEY, ref text NOT NULL)")
	return err
}

func startGuard(t *testing.T) (*proc.Guard, func(string) ([]string, []string)) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := rolesOf(exe)
	_, env := start(roles.Guard)
	g, err := proc.StartGuard(t.Context(), exe, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, start
}

func startStack(t *testing.T, o Options) *Stack {
	t.Helper()
	began := time.Now()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v at %s: Postgres %s, NATS %s", time.Since(began).Round(time.Millisecond), s.Dir(), s.Postgres.Version(), s.Broker.Version())
	t.Cleanup(func() {
		began := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("closed in %v", time.Since(began).Round(time.Millisecond))
		if err := s.Close(); err != nil {
			t.Error("closing again:", err)
		}
		if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
			t.Errorf("its folder is left: %v", err)
		}
	})
	return s
}

func fresh(t *testing.T, p *Postgres) *Database {
	t.Helper()
	db, err := p.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return db
}

func freshStream(t *testing.T, n *NATS, subjects ...string) *Stream {
	t.Helper()
	s, err := n.Stream(t.Context(), subjects)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
