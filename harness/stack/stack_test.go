package stack

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/roles"
)

// One stack for all that can share it: a start costs a second.
func TestStack(t *testing.T) {
	g, start := startGuard(t)
	before := segments(t)
	s := startStack(t, Options{Guard: g, Role: start})
	if err := s.Postgres.Template(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	t.Run("databases", func(t *testing.T) { testDatabases(t, s.Postgres) })
	t.Run("backends", func(t *testing.T) { testBackends(t, s.Postgres) })
	t.Run("slots and prepared transactions", func(t *testing.T) { testLeftovers(t, s.Postgres) })
	t.Run("template anew", func(t *testing.T) { testTemplateAnew(t, s.Postgres) })
	t.Run("streams", func(t *testing.T) { testStreams(t, s.Broker) })
	t.Run("consumers", func(t *testing.T) { testConsumers(t, s.Broker) })
	t.Run("hasten", func(t *testing.T) { testHasten(t, s.Broker) })
	t.Run("clients", func(t *testing.T) { testClients(t, s.Broker) })
	t.Run("crashes", func(t *testing.T) { testCrashes(t, s) })
	t.Run("port taken", func(t *testing.T) { testTaken(t, s) })
	t.Run("by URL", func(t *testing.T) { testGiven(t, s, g) })
	t.Run("secrets", func(t *testing.T) { testSecrets(t, s) })
	t.Run("kill -9", func(t *testing.T) { testNothingIsLeft(t, s) })
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := segments(t); !slices.Equal(before, after) {
		t.Errorf("shared memory before %v, after %v", before, after)
	}
}

// segments are the numbers of the System V shared memory segments whose makers
// are gone: other servers of this machine may come and go meanwhile.
func segments(t *testing.T) []string {
	t.Helper()
	return segmentsOf(t, func(maker string) bool {
		_, err := os.Stat("/proc/" + maker)
		return err != nil
	})
}

func segmentsOf(t *testing.T, match func(maker string) bool) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 5 && fields[0] != "key" && match(fields[4]) {
			ids = append(ids, fields[1])
		}
	}
	return ids
}

func testCrashes(t *testing.T, s *Stack) {
	db := fresh(t, s.Postgres)
	stream := freshStream(t, s.Broker)
	if _, err := db.Conn().Exec(t.Context(), "INSERT INTO orders (ref) VALUES ('o1')"); err != nil {
		t.Fatal(err)
	}
	publish(t, s.Broker, stream, "m1")
	addr := s.Postgres.Addr()

	busy := busyBackend(t, db)
	pids := []int{s.Postgres.cluster.running().Pid(), s.Broker.child.running().Pid()}
	if err := errors.Join(s.Postgres.Kill(), s.Broker.Kill()); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("a killed server is there: %v", err)
		}
	}
	if running(busy) {
		t.Error("a backend at work outlived its server")
	}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "postgres was ended by the signal: killed") {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(s.Postgres.Restart(t.Context()), s.Broker.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	if s.Postgres.Addr() != addr {
		t.Error("the server moved")
	}
	var n int
	if err := db.Conn().QueryRow(t.Context(), "SELECT count(*) FROM orders").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows after the crash, %v", n, err)
	}
	if _, err := db.Backends(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := stream.Messages(t.Context(), 1); err != nil || len(got) != 1 {
		t.Errorf("%d messages after the crash, %v", len(got), err)
	}
	// Restart kills a server that runs.
	if err := errors.Join(s.Postgres.Restart(t.Context()), s.Broker.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		fresh(t, s.Postgres)
	}
}

// busyBackend is the number of a backend that computes and looks at nothing
// else: by itself it would not notice the death of its server.
func busyBackend(t *testing.T, db *Database) int {
	t.Helper()
	conn, err := db.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = conn.Exec(context.Background(), "SELECT sum(a) FROM generate_series(1, 1000000000) AS a")
	}()
	t.Cleanup(func() { <-ended; bye(conn) })
	eventually(t, "the backend to work", func() bool {
		var active bool
		err := db.Conn().QueryRow(t.Context(), "SELECT state = 'active' FROM pg_stat_activity WHERE pid = $1", conn.PgConn().PID()).Scan(&active)
		if err != nil {
			t.Fatal(err)
		}
		return active
	})
	return int(conn.PgConn().PID())
}

// testGiven has a second stack take the first one's servers as given.
func testGiven(t *testing.T, s *Stack, g *proc.Guard) {
	db := fresh(t, s.Postgres)
	mine := freshStream(t, s.Broker)
	before := databases(t, s.Postgres)
	given, err := Start(t.Context(), Options{
		Postgres: db.URL(""), Broker: s.Broker.URL(""), Guard: g, RunID: "given",
	})
	if err != nil {
		t.Fatal(err)
	}
	if given.Postgres.Own() || given.Broker.Own() {
		t.Error("what is given is not own")
	}
	for _, err := range []error{given.Postgres.Kill(), given.Postgres.Restart(t.Context()), given.Broker.Kill(), given.Broker.Restart(t.Context())} {
		if !errors.Is(err, ErrNotOurs) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := given.Broker.Connections(t.Context()); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v", err)
	}
	if err := given.Postgres.Template(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	copied, err := given.Postgres.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(copied.Name, "outboxtest_given_") {
		t.Errorf("its name is %s", copied.Name)
	}
	stream, err := given.Broker.Stream(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, given.Broker, stream, "m1")
	if got, err := stream.Messages(t.Context(), 0); err != nil || len(got) != 1 {
		t.Errorf("%d messages, %v", len(got), err)
	}
	if err := errors.Join(copied.Drop(t.Context()), stream.Drop(t.Context()), given.Close()); err != nil {
		t.Error(err)
	}
	for _, name := range databases(t, s.Postgres) {
		if strings.HasPrefix(name, "outboxtest_given_") {
			t.Errorf("the database %s is left", name)
		}
	}
	for _, name := range before {
		if name == db.Name && !slices.Contains(databases(t, s.Postgres), name) {
			t.Errorf("the database %s is not ours and gone", name)
		}
	}
	if _, err := mine.Messages(t.Context(), 1); err != nil {
		t.Errorf("a stream that is not ours: %v", err)
	}
}

func databases(t *testing.T, p *Postgres) []string {
	t.Helper()
	var names []string
	err := p.watch.do(t.Context(), func(conn *pgx.Conn) error {
		rows, err := conn.Query(t.Context(), "SELECT datname FROM pg_database ORDER BY 1")
		if err != nil {
			return err
		}
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// testSecrets looks into the logs that the tests before filled.
func testSecrets(t *testing.T, s *Stack) {
	_, password := s.Postgres.Credentials()
	_, second := s.Broker.Credentials()
	for _, file := range []string{s.Postgres.Log(), s.Broker.child.log, s.dir + "/initdb.log"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) == 0 || strings.Contains(string(text), password) || strings.Contains(string(text), second) {
			t.Errorf("%s is empty or holds a password", file)
		}
	}
	wrong := strings.Replace(s.Postgres.url, password, "hunter2", 1)
	_, err := Start(t.Context(), Options{Postgres: wrong, Broker: strings.Replace(s.Broker.URL(""), second, "hunter2", 1)})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	t.Log(err)
}

// testNothingIsLeft kills a harness that has servers of its own and things on
// ours.
func testNothingIsLeft(t *testing.T, s *Stack) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	harness, err := proc.Start(t.Context(), proc.Spec{
		Name: "harness", Argv: []string{exe}, Stdout: true,
		Env: append(os.Environ(), roles.Variable+"=harness", "STACK_TEST_POSTGRES="+s.Postgres.url, "STACK_TEST_BROKER="+s.Broker.URL("")),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = harness.Kill() }()
	line, err := harness.ReadLine(t.Context())
	if err != nil {
		t.Fatalf("%v: %s", err, harness.Tail())
	}
	var made traces
	if err := json.Unmarshal([]byte(line.Text), &made); err != nil {
		t.Fatal(err)
	}
	segment := segmentOf(t, made.Data)
	if !slices.Contains(databases(t, s.Postgres), made.Database) {
		t.Fatal("the stand-in made no database")
	}
	_, js, _ := s.Broker.links()
	if _, err := js.Stream(t.Context(), made.Stream); err != nil {
		t.Fatal("the stand-in made no stream")
	}
	if err := syscall.Kill(harness.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, pid := range made.PIDs {
		eventually(t, "the servers to be gone", func() bool { return !running(pid) })
	}
	eventually(t, "the folder to be gone", func() bool { _, err := os.Stat(made.Dir); return os.IsNotExist(err) })
	eventually(t, "the database to be gone", func() bool { return !slices.Contains(databases(t, s.Postgres), made.Database) })
	eventually(t, "the stream to be gone", func() bool {
		_, err := js.Stream(context.Background(), made.Stream)
		return err != nil
	})
	if all := segmentsOf(t, func(string) bool { return true }); slices.Contains(all, segment) {
		t.Errorf("the shared memory %s is left", segment)
	}
}

// running says whether a process is there and no zombie: an orphan's reaping is
// another's business.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	text, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(text), ") Z ")
}

func segmentOf(t *testing.T, data string) string {
	t.Helper()
	text, err := os.ReadFile(data + "/postmaster.pid")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(strings.Split(string(text), "\n")[6])
	return fields[len(fields)-1]
}
