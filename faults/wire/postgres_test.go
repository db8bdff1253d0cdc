package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/faults/wire/pgwire"
)

const patience = 60 * time.Second

func readPostgres() frame.Conversation { return pgwire.New() }

// postgresProgram finds a program of the Postgres server.
func postgresProgram(t testing.TB, name, pkg string) (path string) {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(all) == 0 {
		t.Fatalf("no %s on PATH or under /usr/lib/postgresql: install %s", name, pkg)
	}
	return all[len(all)-1]
}

// startPostgres starts a cluster of the test's own and returns its address.
func startPostgres(t testing.TB) (addr string) {
	t.Helper()
	bin := filepath.Dir(postgresProgram(t, "initdb", "postgresql"))
	dir, err := os.MkdirTemp("", "wire-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	attributes := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 { // Postgres refuses to run as root
		const nobody = 65534
		attributes.Credential = &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "--no-sync", "-A", "scram-sha-256", "--pwfile", password)
	initdb.Dir, initdb.SysProcAttr = dir, attributes
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(addr)
	postgres := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-F",
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	postgres.Dir, postgres.SysProcAttr = dir, attributes
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	postgres.Stdout, postgres.Stderr = log, log
	if err := postgres.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		postgres.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		postgres.Process.Signal(syscall.SIGQUIT)
		<-exited
	})
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		c, err := pgx.Connect(context.Background(), url(addr))
		if err == nil {
			c.Close(context.Background())
			return addr
		}
		select {
		case <-exited:
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("postgres exited:\n%s", text)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("postgres does not answer: %v", err)
		}
	}
}

func url(addr string) string {
	return "postgres://postgres:secret@" + addr + "/postgres?sslmode=disable"
}

// run is one trial against a real server: a board with one link.
type run struct {
	*wire.Board
	t     *testing.T
	addr  string
	fired chan wire.Firing

	mu     sync.Mutex
	record []string
	seen   []wire.Observation
}

func newRun(t *testing.T, link, upstream string, protocol wire.Protocol, fs ...faults.Fault) *run {
	t.Helper()
	r := &run{t: t, fired: make(chan wire.Firing, 8)}
	r.Board = wire.New(wire.Options{
		Observe: func(o wire.Observation) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.seen = append(r.seen, o)
			if o.Label != "" {
				r.record = append(r.record, fmt.Sprintf("%s %s #%d", o.What, o.Label, o.N))
			} else {
				r.record = append(r.record, o.What)
			}
		},
		Fired: func(f wire.Firing) { r.fired <- f },
	})
	t.Cleanup(func() { r.Close() })
	if err := r.Arm(fs); err != nil {
		t.Fatal(err)
	}
	l, err := faults.ParseLink(link)
	if err != nil {
		t.Fatal(err)
	}
	if r.addr, err = r.Link(l, upstream, protocol); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *run) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.record)
}

func (r *run) wait() wire.Firing {
	r.t.Helper()
	select {
	case f := <-r.fired:
		return f
	case <-time.After(patience):
		r.t.Fatalf("nothing fired: %+v\n%s", r.Faults(), strings.Join(r.lines(), "\n"))
		return wire.Firing{}
	}
}

func at(t testing.TB, text string) *faults.Point {
	t.Helper()
	p, err := faults.ParsePoint(text)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func connect(t testing.TB, addr string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, url(addr))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func must(t *testing.T) func(pgconn.CommandTag, error) int64 {
	return func(tag pgconn.CommandTag, err error) int64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return tag.RowsAffected()
	}
}

// TestPostgres runs real transactions of pgx through the board.
func TestPostgres(t *testing.T) {
	upstream := startPostgres(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	direct := connect(t, upstream)
	must(t)(direct.Exec(ctx, "CREATE TABLE outbox (id bigserial primary key, note text, sent bool not null default false)"))
	count := func(t *testing.T, note string) (n int) {
		t.Helper()
		if err := direct.QueryRow(ctx, "SELECT count(*) FROM outbox WHERE note = $1", note).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	t.Run("what passes", func(t *testing.T) {
		r := newRun(t, "relay.0/postgres", upstream, readPostgres)
		c := connect(t, r.addr)
		poll := func() (rows int64) {
			tx, err := c.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			rows = must(t)(tx.Exec(ctx, "UPDATE outbox SET sent = true WHERE NOT sent AND note = $1", "passes"))
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			return rows
		}
		poll()
		poll()
		must(t)(direct.Exec(ctx, "INSERT INTO outbox (note) VALUES ('passes')"))
		if poll() != 1 {
			t.Error("the row was not updated")
		}
		poll()
		var n int
		if err := c.QueryRow(ctx, "SELECT count(*) FROM generate_series(1, 200000)").Scan(&n); err != nil || n != 200000 {
			t.Error(n, err)
		}
		big := strings.Repeat("x", 3<<20)
		var back string
		if err := c.QueryRow(ctx, "SELECT $1::text", big).Scan(&back); err != nil || back != big {
			t.Errorf("%d bytes back, %v", len(back), err)
		}
		lines := r.lines()
		for _, want := range []string{
			"reply begin #1", "reply begin #2", "reply update outbox idle #2", "reply commit idle #2",
			"reply update outbox #1", "reply commit #1", "reply update outbox idle #3", "reply commit idle #3",
		} {
			if !slices.Contains(lines, want) {
				t.Errorf("%q was not observed in\n%s", want, strings.Join(lines, "\n"))
			}
		}
		if slices.Contains(lines, "reply begin #3") || slices.Contains(lines, "reply update outbox #2") {
			t.Errorf("idle polls took numbers:\n%s", strings.Join(lines, "\n"))
		}
		if ids := r.Backends()[faults.Postgres]; !slices.Equal(ids, []uint64{uint64(c.PgConn().PID())}) {
			t.Errorf("backends %v, want %d", ids, c.PgConn().PID())
		}
		if n := r.InFlight("relay"); n != 0 {
			t.Errorf("%d in flight", n)
		}
	})

	for _, do := range []faults.Kind{faults.Kill, faults.Cut} {
		for _, moment := range []string{"before", "unanswered", "after"} {
			name := string(do) + " commit " + moment
			t.Run(name, func(t *testing.T) {
				r := newRun(t, "app.0/postgres", upstream, readPostgres,
					faults.Fault{Do: do, At: at(t, `app.0/postgres "commit" #1 `+moment)})
				c := connect(t, r.addr)
				must(t)(c.Exec(ctx, "BEGIN"))
				must(t)(c.Exec(ctx, "INSERT INTO outbox (note) VALUES ($1)", name))
				result := make(chan error, 1)
				go func() {
					_, err := c.Exec(ctx, "COMMIT")
					result <- err
				}()
				f := r.wait()
				if do == faults.Kill {
					r.Sever(f.Instance, false)
				}
				if err := <-result; (err == nil) != (moment == "after") {
					t.Errorf("the commit returned %v", err)
				}
				quiet(t, ctx, direct)
				want := 1
				if moment == "before" {
					want = 0
				}
				if n := count(t, name); n != want {
					t.Errorf("%d rows are committed, want %d", n, want)
				}
				must(t)(connect(t, r.addr).Exec(ctx, "SELECT 1"))
			})
		}
	}

	t.Run("hang and heal", func(t *testing.T) {
		r := newRun(t, "app.0/postgres", upstream, readPostgres,
			faults.Fault{Do: faults.Hang, At: at(t, `app.0/postgres "select generate_series()" #1 unanswered`)})
		c := connect(t, r.addr)
		result := make(chan error, 1)
		go func() {
			rows, err := c.Query(ctx, "SELECT i FROM generate_series(1, 50000) i")
			if err == nil {
				var all []int
				if all, err = pgx.CollectRows(rows, pgx.RowTo[int]); err == nil && len(all) != 50000 {
					err = fmt.Errorf("%d rows", len(all))
				}
			}
			result <- err
		}()
		r.wait()
		r.Heal(0)
		if err := <-result; err != nil {
			t.Errorf("%v\n%s", err, strings.Join(r.lines(), "\n"))
		}
	})

	t.Run("linger keeps the lock", func(t *testing.T) {
		must(t)(direct.Exec(ctx, "INSERT INTO outbox (note) VALUES ('locked')"))
		r := newRun(t, "relay.0/postgres", upstream, readPostgres,
			faults.Fault{Do: faults.Kill, At: at(t, `relay.0/postgres "update outbox" #1 before`), Then: faults.Then{Restart: faults.BackendsLinger}})
		c := connect(t, r.addr)
		must(t)(c.Exec(ctx, "BEGIN"))
		must(t)(c.Exec(ctx, "SELECT id FROM outbox WHERE note = 'locked' FOR UPDATE"))
		result := make(chan error, 1)
		go func() {
			_, err := c.Exec(ctx, "UPDATE outbox SET sent = true WHERE note = 'locked'")
			result <- err
		}()
		f := r.wait()
		r.Sever(f.Instance, true)
		if err := <-result; err == nil {
			t.Error("the update returned no error")
		}
		const try = "SELECT id FROM outbox WHERE note = 'locked' FOR UPDATE NOWAIT"
		again := connect(t, r.addr)
		_, err := again.Exec(ctx, try)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "55P03" {
			t.Errorf("the row is not locked: %v", err)
		}
		r.CloseLingering(f.Instance)
		quiet(t, ctx, direct)
		must(t)(again.Exec(ctx, try))
	})

	t.Run("connect unanswered", func(t *testing.T) {
		r := newRun(t, "relay.0/postgres", upstream, readPostgres,
			faults.Fault{Do: faults.Cut, At: at(t, `relay.0/postgres "connect" #1 unanswered`)})
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if c, err := pgx.Connect(ctx, url(r.addr)); err == nil {
			c.Close(ctx)
			t.Error("it connected")
		}
		r.wait()
	})

	t.Run("copy unanswered", func(t *testing.T) {
		r := newRun(t, "app.0/postgres", upstream, readPostgres,
			faults.Fault{Do: faults.Cut, At: at(t, `app.0/postgres "copy outbox" #1 unanswered`)})
		c := connect(t, r.addr)
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err := c.CopyFrom(ctx, pgx.Identifier{"outbox"}, []string{"note"}, pgx.CopyFromRows([][]any{{"copied"}}))
		if err == nil {
			t.Error("the copy returned no error")
		}
		r.wait()
		quiet(t, ctx, direct)
		if n := count(t, "copied"); n != 1 {
			t.Errorf("%d rows are committed, want 1", n)
		}
	})
}

// quiet waits until no other backend has a transaction.
func quiet(t *testing.T, ctx context.Context, direct *pgx.Conn) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		var n int
		err := direct.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d backends still have a transaction", n)
		}
	}
}
