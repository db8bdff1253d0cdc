package pgwire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

const (
	stuck  = "select coalesce(jsonb_agg(o), '[]') from (select * from outbox where sent is null limit 10) o"
	cursor = "select last_id from positions"
)

func data(text string) *pgproto3.DataRow { return &pgproto3.DataRow{Values: [][]byte{[]byte(text)}} }

// read is a simple query that returns one row.
func (k *talk) read(sql, text string, ready *pgproto3.ReadyForQuery) {
	k.t.Helper()
	k.client(ask(sql))
	k.server(&pgproto3.RowDescription{}, data(text), done("SELECT 1"), ready)
}

// bind is a prepared statement run again with a parameter, and its Sync.
func (k *talk) bind(statement, parameter string, replies ...pgproto3.BackendMessage) {
	k.t.Helper()
	k.client(&pgproto3.Bind{PreparedStatement: statement, Parameters: [][]byte{[]byte(parameter)}}, &pgproto3.Execute{}, sync)
	k.server(bound)
	k.server(replies...)
}

// idles tells which replies so far were idle, as one letter each, and begins a
// new page: i for idle, . for not.
func (k *talk) idles(want string) {
	k.t.Helper()
	var got strings.Builder
	for _, l := range k.lines {
		switch {
		case !strings.HasPrefix(l, "reply"):
		case strings.Contains(l, ", idle"):
			got.WriteByte('i')
		default:
			got.WriteByte('.')
		}
	}
	if got.String() != want {
		k.t.Errorf("idle %s, want %s:\n  %s", got.String(), want, strings.Join(k.lines, "\n  "))
	}
	k.lines = nil
}

func TestAPollThatFindsWhatItFoundBefore(t *testing.T) {
	k := readyTalk(t)
	k.read(stuck, "[]", idle)
	k.read(stuck, "[]", idle)
	k.want("request #2 select outbox", "reply #2 select outbox, rows=1", "request #3 select outbox", "reply #3 select outbox, idle rows=1 same=#2")
	k.read(stuck, "[o1]", idle)
	k.step("update outbox set sent = now()", idle, "UPDATE 1")
	k.read(stuck, "[]", idle)
	k.read(stuck, "[]", idle)
	k.read(stuck, "[]", idle)
	k.idles("...ii")
}

func TestWhatMakesAReadNoRepeat(t *testing.T) {
	for name, between := range map[string]func(*talk){
		"rows were changed":         func(k *talk) { k.step("update outbox set attempts = 1", idle, "UPDATE 1") },
		"rows of unknown SQL":       func(k *talk) { k.step("execute unknown", idle, "INSERT 0 1") },
		"a part changes rows":       func(k *talk) { k.step("with d as (delete from outbox returning 1) select * from d", idle, "SELECT 1") },
		"a table was made":          func(k *talk) { k.step("create table t ()", idle, "CREATE TABLE") },
		"a procedure":               func(k *talk) { k.step("call work()", idle, "CALL") },
		"a function that may write": func(k *talk) { k.read("select mark_all()", "", idle) },
		"news of another table":     func(k *talk) { k.read("select * from inbox", "m1", idle) },
		"an error":                  func(k *talk) { k.client(ask("select 1/0")); k.server(broken, idle) },
		"another reply":             func(k *talk) { k.read(stuck, "[o2]", idle) },
		"an empty reply":            func(k *talk) { k.step(stuck, idle, "SELECT 0") },
		"copied rows":               func(k *talk) { k.step("copy outbox to stdout", idle, "COPY 1") },
		"a notification is sent":    func(k *talk) { k.read("select pg_notify('outbox', '')", "", idle) },
		"a transaction that wrote": func(k *talk) {
			k.step("begin", inTx, "BEGIN")
			k.step("update outbox set attempts = 1", inTx, "UPDATE 1")
			k.step("rollback", idle, "ROLLBACK")
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := readyTalk(t)
			k.read(stuck, "[o1]", idle)
			between(k)
			k.lines = nil
			k.read(stuck, "[o1]", idle)
			k.idles(".")
		})
	}
}

func TestWhatLeavesARepeat(t *testing.T) {
	for name, between := range map[string]func(*talk){
		"a poll of no rows":       func(k *talk) { k.step("select * from inbox", idle, "SELECT 0") },
		"a change of no rows":     func(k *talk) { k.step("update outbox set attempts = 1", idle, "UPDATE 0") },
		"an idle transaction":     func(k *talk) { k.step("begin", inTx, "BEGIN"); k.step("commit", idle, "COMMIT") },
		"a query without a table": func(k *talk) { k.read("select now()", "12:00", idle) },
		"a notice":                func(k *talk) { k.server(&pgproto3.NoticeResponse{Severity: "NOTICE"}) },
	} {
		t.Run(name, func(t *testing.T) {
			k := readyTalk(t)
			k.read(stuck, "[o1]", idle)
			between(k)
			k.lines = nil
			k.read(stuck, "[o1]", idle)
			k.idles("i")
		})
	}
}

// What changes rows is no poll, whatever it returns; nor is what has an effect
// each time.
func TestWhatIsNeverARepeat(t *testing.T) {
	for sql, tag := range map[string]string{
		"update heartbeat set at = now() returning 1":                       "UPDATE 1",
		"insert into log values (1) returning 1":                            "INSERT 0 1",
		"with d as (delete from outbox returning 1) select count(*) from d": "SELECT 1",
		"select * into copied from outbox":                                  "SELECT 1",
		"select pg_notify('outbox', '')":                                    "SELECT 1",
		"execute unknown":                                                   "SELECT 1",
		"fetch 1 from c":                                                    "FETCH 1",
		"select 1; update heartbeat set at = now()":                         "UPDATE 1",
		"begin; select * from outbox":                                       "SELECT 1",
	} {
		t.Run(sql, func(t *testing.T) {
			k := readyTalk(t)
			for range 4 {
				k.client(ask(sql))
				k.server(row, done(tag), idle)
			}
			k.idles("....")
		})
	}
}

// A function that takes a batch returns something else whenever it took one.
func TestAFunctionThatTakes(t *testing.T) {
	k := readyTalk(t)
	for _, reply := range []string{"[]", "[]", "[o1]", "[]", "[]"} {
		k.read("select take_batch(10)", reply, idle)
	}
	k.idles(".i..i")
	for range 3 {
		k.step("begin", inTx, "BEGIN")
		k.read("select take_batch(5)", "[]", inTx)
		k.step("commit", idle, "COMMIT")
	}
	k.idles("....i..i.")
}

// Two reads that both return rows, and a round of work in which the second is
// asked again: it is known, but there was news since.
func TestAReadAgainInARoundOfWork(t *testing.T) {
	k := readyTalk(t)
	for range 3 {
		k.read(cursor, "1", idle)
		k.read(stuck, "[]", idle)
	}
	k.idles("...iii")
	k.read(cursor, "1", idle)
	k.read(stuck, "[o2]", idle)
	k.read(cursor, "1", idle) // still the owner, before it marks
	k.step("update positions set last_id = 2", idle, "UPDATE 1")
	k.idles("i...")
	k.read(cursor, "2", idle)
	k.read(stuck, "[]", idle)
	k.read(cursor, "2", idle)
	k.read(stuck, "[]", idle)
	k.read(cursor, "2", idle)
	k.idles("...ii")
	// A heartbeat that only a function tells of.
	for range 4 {
		k.read(stuck, "[]", idle)
		k.read("select heartbeat()", "", idle)
	}
	k.idles("i....iii")
}

// What was read in a transaction that wrote was read of a state that ends with it.
func TestTheEndOfATransactionThatWrote(t *testing.T) {
	k := readyTalk(t)
	k.step("begin", inTx, "BEGIN")
	k.step("update outbox set attempts = 1", inTx, "UPDATE 1")
	k.read(stuck, "[o1]", inTx)
	k.read(stuck, "[o1]", inTx)
	k.idles("...i")
	k.step("rollback", idle, "ROLLBACK")
	k.read(stuck, "[o1]", idle)
	k.read(stuck, "[o1]", idle)
	k.idles("..i")
}

func TestATransactionOfRepeats(t *testing.T) {
	k := readyTalk(t)
	for range 2 {
		k.step("begin", inTx, "BEGIN")
		k.read(stuck, "[o1]", inTx)
		k.step("commit", idle, "COMMIT")
	}
	k.want("request #2 begin, begin", "reply #2 begin, open", "request #3 select outbox", "reply #3 select outbox, rows=1 open",
		"request #4 commit, end", "reply #4 commit, ended=commit",
		"request #5 begin, begin", "reply #5 begin, open", "request #6 select outbox", "reply #6 select outbox, idle rows=1 same=#3 open",
		"request #7 commit, end idle", "reply #7 commit, ended=commit")
	// The row is read again and marked at last: the transaction has worked.
	k.step("begin", inTx, "BEGIN")
	k.read(stuck, "[o1]", inTx)
	k.step("update outbox set sent = now()", inTx, "UPDATE 1")
	k.step("commit", idle, "COMMIT")
	k.want("request #8 begin, begin", "reply #8 begin, open", "request #9 select outbox", "reply #9 select outbox, idle rows=1 same=#6 open",
		"request #10 update outbox", "reply #10 update outbox, rows=1 write open", "request #11 commit, end", "reply #11 commit, ended=commit")
}

func TestARepeatHasTheSameParameters(t *testing.T) {
	k := readyTalk(t)
	for _, name := range []string{"s1", "s2"} {
		k.client(&pgproto3.Parse{Name: name, Query: "select * from outbox where id > $1 or " + name}, sync)
		k.server(parsed, idle)
	}
	k.bind("s1", "1", row, done("SELECT 1"), idle)
	k.bind("s1", "1", row, done("SELECT 1"), idle)
	k.idles(".i")
	k.bind("s1", "2", row, done("SELECT 1"), idle)
	k.bind("s1", "2", row, done("SELECT 1"), idle)
	k.bind("s2", "2", row, done("SELECT 1"), idle)
	k.idles(".i.")
	k.bind("s2", "2", row, &pgproto3.PortalSuspended{}, idle)
	k.idles(".")
	// The name now means something else.
	k.client(&pgproto3.Close{ObjectType: 'S', Name: "s1"}, &pgproto3.Parse{Name: "s1", Query: "select * from inbox where id > $1"}, sync)
	k.server(&pgproto3.CloseComplete{}, parsed, idle)
	k.bind("s1", "2", row, done("SELECT 1"), idle)
	k.bind("s1", "2", row, done("SELECT 1"), idle)
	k.idles(".i")
	// The rest of a portal is not its beginning.
	k.client(&pgproto3.Bind{PreparedStatement: "s2", DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 1}, &pgproto3.Execute{Portal: "p", MaxRows: 1}, sync)
	k.server(bound, row, &pgproto3.PortalSuspended{}, row, &pgproto3.PortalSuspended{}, idle)
	k.idles("..")
}

func TestARepeatBySQLPrepare(t *testing.T) {
	k := readyTalk(t)
	k.step("prepare p (int) as select * from outbox where id > $1", idle, "PREPARE")
	k.lines = nil
	k.read("execute p(1)", "o2", idle)
	k.read("execute p(1)", "o2", idle)
	k.read("execute p(2)", "o2", idle)
	k.idles(".i.")
	k.step("deallocate p", idle, "DEALLOCATE")
	k.step("prepare p (int) as select * from inbox where id > $1", idle, "PREPARE")
	k.lines = nil
	k.read("execute p(2)", "o2", idle)
	k.idles(".")
}

func TestRepeatsInAPipeline(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline(stuck, stuck, "update outbox set sent = now()", stuck, stuck)...)
	k.server(row, done("SELECT 1"), row, done("SELECT 1"), done("UPDATE 1"), row, done("SELECT 1"), row, done("SELECT 1"), idle)
	k.idles(".i..i")
	k.client(pipeline(stuck, "insert into a values (1)", stuck)...)
	k.server(row, done("SELECT 1"), broken, idle)
	k.client(pipeline(stuck)...)
	k.server(row, done("SELECT 1"), idle)
	k.idles("i...")
}

// Rows that make one text must not be taken for others that make the same.
func TestRowsAreToldApart(t *testing.T) {
	k := readyTalk(t)
	ask2 := func(rows ...string) {
		k.client(ask(stuck))
		for _, r := range rows {
			k.raw(frame.FromServer, typed('D', r))
		}
		k.server(done("SELECT 2"), idle)
	}
	ask2("ab", "c")
	ask2("a", "bc")
	ask2("a", "bc")
	k.idles("..i")
}

// Of a message that is too long to be seen whole nobody can say that it is the same.
func TestALongReplyIsNoRepeat(t *testing.T) {
	k := readyTalk(t)
	long := string(make([]byte, frame.MaxRead))
	k.read(stuck, long, idle)
	k.read(stuck, long, idle)
	k.read("select '"+strings.Repeat("x", frame.MaxRead)+"' from outbox", "1", idle)
	k.read("select '"+strings.Repeat("x", frame.MaxRead)+"' from outbox", "1", idle)
	k.idles("....")
}

func TestRepeatsAreBounded(t *testing.T) {
	k := readyTalk(t)
	for i := range repeatsAtMost + 10 {
		k.read(fmt.Sprint("select * from outbox where id > ", i), "1", idle)
	}
	if n := len(k.c.repeats.seen); n != repeatsAtMost {
		t.Errorf("%d replies are remembered, want %d", n, repeatsAtMost)
	}
	last := fmt.Sprint("select * from outbox where id > ", repeatsAtMost+9)
	k.lines = nil
	k.read(last, "1", idle)
	k.read("select * from outbox where id > 0", "1", idle)
	k.idles("i.")
}
