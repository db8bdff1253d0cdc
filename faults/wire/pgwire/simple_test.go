package pgwire

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

func TestSimpleQueries(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		reply     []pgproto3.BackendMessage
		want      []string
	}{
		{"insert commits", "insert into outbox values (1)", back(done("INSERT 0 1"), idle),
			[]string{"request #2 insert outbox", "reply #2 insert outbox, rows=1 write ended=commit"}},
		{"nothing updated", "update outbox set x = 1", back(done("UPDATE 0"), idle),
			[]string{"request #2 update outbox", "reply #2 update outbox, idle rows=0"}},
		{"rows read", "select * from outbox", back(&pgproto3.RowDescription{}, row, row, row, done("SELECT 3"), idle),
			[]string{"request #2 select outbox", "reply #2 select outbox, rows=3"}},
		{"no rows read", "select * from outbox", back(&pgproto3.RowDescription{}, done("SELECT 0"), idle),
			[]string{"request #2 select outbox", "reply #2 select outbox, idle rows=0"}},
		{"a claim by a function", "select * from claim_batch(10)", back(row, done("SELECT 1"), idle),
			[]string{"request #2 select claim_batch()", "reply #2 select claim_batch(), rows=1 write ended=commit"}},
		{"an idle claim", "select * from claim_batch(10)", back(done("SELECT 0"), idle),
			[]string{"request #2 select claim_batch()", "reply #2 select claim_batch(), idle rows=0"}},
		{"a claim in a WITH", "with u as (update outbox set x = 1 returning *) select * from u", back(row, done("SELECT 1"), idle),
			[]string{"request #2 update outbox", "reply #2 update outbox, rows=1 write ended=commit"}},
		{"no count", "listen outbox", back(done("LISTEN"), idle),
			[]string{"request #2 listen", "reply #2 listen"}},
		{"a table", "create table t (id int)", back(done("CREATE TABLE"), idle),
			[]string{"request #2 create table t", "reply #2 create table t, write ended=commit"}},
		{"a table of no rows", "create table t as select 1 where false", back(done("SELECT 0"), idle),
			[]string{"request #2 create table t", "reply #2 create table t, rows=0 write ended=commit"}},
		{"empty", ";", back(&pgproto3.EmptyQueryResponse{}, idle),
			[]string{"request #2 empty", "reply #2 empty"}},
		{"an error", "insert into outbox values (1)", back(broken, idle),
			[]string{"request #2 insert outbox", "reply #2 insert outbox, error=23505: duplicate key"}},
		{"begin", "BEGIN", back(done("BEGIN"), inTx),
			[]string{"request #2 begin, begin", "reply #2 begin, open"}},
		{"begin and a statement", "begin; insert into t values (1)", back(done("BEGIN"), done("INSERT 0 1"), inTx),
			[]string{"request #2 begin; insert t, begin", "reply #2 begin; insert t, rows=1 write open"}},
		{"a whole block", "begin; insert into t values (1); commit", back(done("BEGIN"), done("INSERT 0 1"), done("COMMIT"), idle),
			[]string{"request #2 begin; insert t; commit", "reply #2 begin; insert t; commit, rows=1 write ended=commit"}},
		{"a whole block rolled back", "begin; insert into t values (1); rollback", back(done("BEGIN"), done("INSERT 0 1"), done("ROLLBACK"), idle),
			[]string{"request #2 begin; insert t; rollback", "reply #2 begin; insert t; rollback, rows=1 write ended=rollback"}},
		{"a whole block that fails to commit", "begin; insert into t values (1); commit", back(done("BEGIN"), done("INSERT 0 1"), broken, idle),
			[]string{"request #2 begin; insert t; commit", "reply #2 begin; insert t; commit, ended=rollback error=23505: duplicate key"}},
		{"committed before the error", "begin; insert into t values (1); commit; insert into t values (1)",
			back(done("BEGIN"), done("INSERT 0 1"), done("COMMIT"), broken, idle),
			[]string{"request #2 begin; insert t; commit; insert t", "reply #2 begin; insert t; commit; insert t, write ended=commit error=23505: duplicate key"}},
		{"implicit block of two", "insert into t values (1); select * from t", back(done("INSERT 0 1"), row, done("SELECT 1"), idle),
			[]string{"request #2 insert t; select t", "reply #2 insert t; select t, rows=2 write ended=commit"}},
		{"two idle ones", "delete from t; update t set x = 1", back(done("DELETE 0"), done("UPDATE 0"), idle),
			[]string{"request #2 delete t; update t", "reply #2 delete t; update t, idle rows=0"}},
		{"an idle one and a notify", "delete from t; notify c", back(done("DELETE 0"), done("NOTIFY"), idle),
			[]string{"request #2 delete t; notify", "reply #2 delete t; notify, rows=0"}},
		{"commit prepared", "commit prepared 'x'", back(done("COMMIT PREPARED"), idle),
			[]string{"request #2 commit prepared", "reply #2 commit prepared, write ended=commit"}},
		{"notices and settings", "set x = 1", back(&pgproto3.NoticeResponse{Message: "hm"}, &pgproto3.ParameterStatus{Name: "x", Value: "1"}, done("SET"), idle),
			[]string{"request #2 set", "reply #2 set"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := readyTalk(t)
			k.client(ask(c.sql))
			k.server(c.reply...)
			k.want(c.want...)
			k.client(ask("select 1")) // the conversation is in step afterwards
			k.server(row, done("SELECT 1"), idle)
			if last := k.c.queue.len(); last != 0 {
				t.Errorf("%d entries are left in the queue", last)
			}
		})
	}
}

func back(m ...pgproto3.BackendMessage) []pgproto3.BackendMessage { return m }

// step is one simple query with its reply.
func (k *talk) step(sql string, ready *pgproto3.ReadyForQuery, tag string) {
	k.t.Helper()
	k.client(ask(sql))
	k.server(done(tag), ready)
}

func TestTransaction(t *testing.T) {
	k := readyTalk(t)
	k.step("begin", inTx, "BEGIN")
	k.step("insert into orders values (1)", inTx, "INSERT 0 1")
	k.step("insert into outbox values (1)", inTx, "INSERT 0 1")
	k.step("commit", idle, "COMMIT")
	k.want("request #2 begin, begin", "reply #2 begin, open",
		"request #3 insert orders", "reply #3 insert orders, rows=1 write open",
		"request #4 insert outbox", "reply #4 insert outbox, rows=1 write open",
		"request #5 commit, end", "reply #5 commit, ended=commit")
}

func TestIdleTransactions(t *testing.T) {
	type step struct {
		sql, tag string
	}
	for _, c := range []struct {
		name  string
		steps []step
		idle  bool
	}{
		{"nothing", nil, true},
		{"no rows", []step{{"select * from outbox", "SELECT 0"}, {"update outbox set x = 1", "UPDATE 0"}}, true},
		{"settings", []step{{"set local x = 1", "SET"}, {"savepoint s", "SAVEPOINT"}, {"release s", "RELEASE"}, {"show x", "SHOW"}, {"rollback to s", "ROLLBACK"}}, true},
		{"an advisory lock", []step{{"select pg_try_advisory_xact_lock(1)", "SELECT 1"}, {"select * from outbox", "SELECT 0"}}, true},
		{"a ping", []step{{"select 1", "SELECT 1"}}, true},
		{"rows", []step{{"select * from outbox", "SELECT 1"}, {"select * from outbox", "SELECT 0"}}, false},
		{"a write", []step{{"update outbox set x = 1", "UPDATE 1"}}, false},
		{"a notify", []step{{"notify x", "NOTIFY"}}, false},
		{"a listen", []step{{"listen x", "LISTEN"}}, false},
		{"a table", []step{{"create table x ()", "CREATE TABLE"}}, false},
		{"a cursor without rows", []step{{"declare c cursor for select 1", "DECLARE CURSOR"}, {"fetch 1 from c", "FETCH 0"}, {"close c", "CLOSE CURSOR"}}, true},
	} {
		for _, end := range []struct{ sql, tag string }{{"commit", "COMMIT"}, {"rollback", "ROLLBACK"}} {
			t.Run(c.name+" "+end.sql, func(t *testing.T) {
				k := readyTalk(t)
				k.step("begin", inTx, "BEGIN") // a busy transaction before must not count
				k.step("insert into t values (1)", inTx, "INSERT 0 1")
				k.step("commit", idle, "COMMIT")
				k.step("insert into t values (1)", idle, "INSERT 0 1")
				k.step("begin", inTx, "BEGIN")
				for _, s := range c.steps {
					k.step(s.sql, inTx, s.tag)
				}
				k.lines = nil
				k.step(end.sql, idle, end.tag)
				idleMark := ""
				if c.idle {
					idleMark = " idle"
				}
				n := fmt.Sprint(k.c.exchanges)
				k.want("request #"+n+" "+end.sql+", end"+idleMark, "reply #"+n+" "+end.sql+", ended="+end.sql)
			})
		}
	}
}

func TestFailedTransaction(t *testing.T) {
	k := readyTalk(t)
	k.step("begin", inTx, "BEGIN")
	k.client(ask("insert into t values (1)"))
	k.server(broken, failed)
	k.step("commit", idle, "ROLLBACK")
	k.want("request #2 begin, begin", "reply #2 begin, open",
		"request #3 insert t", "reply #3 insert t, open error=23505: duplicate key",
		"request #4 commit, end", "reply #4 commit, ended=rollback")
	// A deferred constraint fails at the commit itself.
	k.step("begin", inTx, "BEGIN")
	k.step("insert into t values (1)", inTx, "INSERT 0 1")
	k.client(ask("commit"))
	k.server(broken, idle)
	k.want("request #5 begin, begin", "reply #5 begin, open", "request #6 insert t", "reply #6 insert t, rows=1 write open",
		"request #7 commit, end", "reply #7 commit, ended=rollback error=23505: duplicate key")
}

func TestChainAndSavepoints(t *testing.T) {
	k := readyTalk(t)
	k.step("begin", inTx, "BEGIN")
	k.step("insert into t values (1)", inTx, "INSERT 0 1")
	k.step("rollback to s", inTx, "ROLLBACK")
	k.step("commit and chain", inTx, "COMMIT")
	k.step("rollback", idle, "ROLLBACK")
	k.want("request #2 begin, begin", "reply #2 begin, open", "request #3 insert t", "reply #3 insert t, rows=1 write open",
		"request #4 rollback to", "reply #4 rollback to, open",
		"request #5 commit, begin end", "reply #5 commit, ended=commit open",
		"request #6 rollback, end idle", "reply #6 rollback, ended=rollback")
}

func TestTwoPhaseCommit(t *testing.T) {
	k := readyTalk(t)
	k.step("begin", inTx, "BEGIN")
	k.step("insert into t values (1)", inTx, "INSERT 0 1")
	k.step("prepare transaction 'x'", idle, "PREPARE TRANSACTION")
	k.want("request #2 begin, begin", "reply #2 begin, open", "request #3 insert t", "reply #3 insert t, rows=1 write open",
		"request #4 prepare transaction, end", "reply #4 prepare transaction, write")
}

func TestFatalError(t *testing.T) {
	fatal := &pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01", Message: "terminating"}
	k := readyTalk(t)
	k.server(fatal)
	k.want()
	k = readyTalk(t)
	k.client(pipeline("insert into a values (1)", "insert into b values (1)")...)
	k.server(fatal)
	k.want("request #2 insert a", "request #3 insert b", "reply #2 insert a, error=57P01: terminating",
		"reply #3 insert b, error=skipped: 57P01: terminating")
}

func TestNotification(t *testing.T) {
	k := readyTalk(t)
	k.server(&pgproto3.NotificationResponse{PID: 1, Channel: "outbox", Payload: "x"})
	k.client(ask("select * from outbox"))
	k.server(&pgproto3.NotificationResponse{PID: 1, Channel: "outbox"}, done("SELECT 0"), idle)
	k.want("push #2 notify", "request #3 select outbox", "push #4 notify", "reply #3 select outbox, idle rows=0")
}

func TestFunctionCall(t *testing.T) {
	k := readyTalk(t)
	k.client(&pgproto3.FunctionCall{Function: 1})
	k.server(&pgproto3.FunctionCallResponse{Result: []byte("x")}, idle)
	k.want("request #2 function call", "reply #2 function call, write ended=commit")
}

func TestTerminate(t *testing.T) {
	k := readyTalk(t)
	k.client(&pgproto3.Terminate{})
	k.wantAll()
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		body, want string
		fatal      bool
	}{
		{"SFEHLER\x00VERROR\x00C40001\x00Mline\none \"x\"\xff\x00\x00", `40001: line_one "x"_`, false},
		{"SFATAL\x00C57P03\x00Mstarting\x00\x00", "57P03: starting", true},
		{"SERROR\x00VPANIC\x00\x00", "XX000: ", true},
		{"", "XX000: ", false},
		{"M", "XX000: ", false},
	} {
		if text, fatal := errorText([]byte(c.body)); text != c.want || fatal != c.fatal {
			t.Errorf("errorText(%q) = %q, %v; want %q, %v", c.body, text, fatal, c.want, c.fatal)
		}
	}
}

func TestLongQueryIsSeenInPart(t *testing.T) {
	k := readyTalk(t)
	long := make([]byte, 2*frame.MaxRead)
	for i := range long {
		long[i] = ' '
	}
	copy(long, "insert into outbox values ('")
	k.raw(frame.FromClient, typed('Q', string(long)))
	k.server(done("INSERT 0 1"), idle)
	k.want("request #2 insert outbox", "reply #2 insert outbox, rows=1 write ended=commit")
}
