package stack

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func itoa(n int) string { return strconv.Itoa(n) }

func testDatabases(t *testing.T, p *Postgres) {
	names := map[string]bool{}
	for i := range 6 {
		began := time.Now()
		db := fresh(t, p)
		t.Logf("database %d after %v", i, time.Since(began).Round(100*time.Microsecond))
		if names[db.Name] || !strings.HasPrefix(db.Name, namePrefix) {
			t.Errorf("its name is %s", db.Name)
		}
		names[db.Name] = true
		if _, err := db.Conn().Exec(t.Context(), "INSERT INTO orders (ref) VALUES ($1)", "o1"); err != nil {
			t.Fatal(err)
		}
		var ref string
		if err := db.Conn().QueryRow(t.Context(), "SELECT ref FROM orders").Scan(&ref); err != nil || ref != "o1" {
			t.Errorf("got %q, %v: the database is not fresh", ref, err)
		}
		if err := db.Drop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := db.Conn().QueryRow(t.Context(), "SELECT 1").Scan(new(int)); err == nil {
			t.Error("a dropped database was read")
		}
	}
	eventually(t, "the dropped to be gone", func() bool {
		for _, name := range databases(t, p) {
			if names[name] {
				return false
			}
		}
		return true
	})
}

func testBackends(t *testing.T, p *Postgres) {
	db := fresh(t, p)
	if list, err := db.Backends(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("a fresh database has %v, %v", list, err)
	}
	// Two queries at once on the ledgers' connection.
	rows, err := db.Conn().Query(t.Context(), "SELECT generate_series(1, 3)")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		if err := db.Conn().QueryRow(t.Context(), "SELECT 1").Scan(new(int)); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if rows.Err() != nil || n != 3 {
		t.Errorf("%d rows, %v", n, rows.Err())
	}
	if err := db.Conn().QueryRow(t.Context(), "SELECT 1 WHERE false").Scan(new(int)); !errors.Is(err, pgx.ErrNoRows) {
		t.Errorf("got %v", err)
	}
	if err := db.Conn().QueryRow(t.Context(), "SELECT nonsense").Scan(new(int)); err == nil {
		t.Error("nonsense was selected")
	}
	if len(db.Conn().idle) != 2 {
		t.Errorf("%d connections are kept, want the two that were used at once", len(db.Conn().idle))
	}

	target, err := pgx.Connect(t.Context(), db.URL(p.Addr())+"&application_name=relay")
	if err != nil {
		t.Fatal(err)
	}
	defer bye(target)
	if _, err := target.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	list, err := db.Backends(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	b := list[0]
	_, port, _ := strings.Cut(target.PgConn().Conn().LocalAddr().String(), ":")
	if b.ApplicationName != "relay" || b.PID != target.PgConn().PID() || b.XactStart == nil || b.State != "idle in transaction" ||
		itoa(b.ClientPort) != port || b.Type != "client backend" {
		t.Errorf("got %+v", b)
	}
	if _, err := target.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if list, err = db.Backends(t.Context()); err != nil || len(list) != 1 || list[0].XactStart != nil {
		t.Errorf("after the rollback: %+v, %v", list, err)
	}
}

// testLeftovers drops databases with everything that keeps a database, and then
// uses the same names again.
func testLeftovers(t *testing.T, p *Postgres) {
	for range 2 {
		db := fresh(t, p)
		conn, err := db.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{
			// The slots first: they wait for every open transaction.
			"SELECT pg_create_logical_replication_slot('outbox', 'test_decoding')",
			"SELECT pg_create_logical_replication_slot('active', 'test_decoding')",
			"BEGIN", "INSERT INTO orders (ref) VALUES ('p')", `PREPARE TRANSACTION 'it''s \ one'`,
		} {
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		sender, err := pgx.Connect(t.Context(), db.URL("")+"&replication=database&default_query_exec_mode=simple_protocol")
		if err != nil {
			t.Fatal(err)
		}
		defer bye(sender)
		started := sender.PgConn().Exec(t.Context(), "START_REPLICATION SLOT active LOGICAL 0/0")
		eventually(t, "the walsender", func() bool {
			list, err := db.Backends(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range list {
				if b.Type == "walsender" {
					return true
				}
			}
			return false
		})
		prepared, err := db.PreparedTransactions(t.Context())
		if err != nil || len(prepared) != 1 || prepared[0].GID != `it's \ one` {
			t.Errorf("got %v, %v", prepared, err)
		}
		if err := db.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = started.Close()
		bye(conn)
		// At once, for the next trial may use the same names.
		var slots, transactions int
		err = p.watch.do(t.Context(), func(conn *pgx.Conn) error {
			return conn.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM pg_replication_slots), (SELECT count(*) FROM pg_prepared_xacts)").Scan(&slots, &transactions)
		})
		if err != nil || slots > 0 || transactions > 0 {
			t.Errorf("%d slots and %d prepared transactions are left, %v", slots, transactions, err)
		}
	}
}

func testTemplateAnew(t *testing.T, p *Postgres) {
	before := p.template.name
	if err := p.Template(t.Context(), func(ctx context.Context, conn *pgx.Conn) error { return errors.New("no schema") }); err == nil || !strings.Contains(err.Error(), "no schema") {
		t.Errorf("got %v", err)
	}
	if p.template.name != before {
		t.Error("a schema that cannot be applied took the place of one that can")
	}
	other := func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE TABLE orders (ref text); CREATE TABLE other (id int)")
		return err
	}
	if err := p.Template(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := fresh(t, p).Conn().Exec(t.Context(), "SELECT id FROM other"); err != nil {
			t.Errorf("a copy of the template before: %v", err)
		}
	}
	eventually(t, "the template before to be gone", func() bool {
		for _, name := range databases(t, p) {
			if name == before {
				return false
			}
		}
		return true
	})
}

func TestNoTemplate(t *testing.T) {
	if _, err := (&Postgres{}).Database(t.Context()); err == nil {
		t.Error("a database out of nothing")
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"a": "'a'", "it's": "'it''s'", `a\'b`: ` E'a\\''b'`} {
		if got := quote(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
