package pgwire

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// A cached statement, as pgx and JDBC use it: Parse once, Bind often.
func TestCachedStatement(t *testing.T) {
	k := readyTalk(t)
	k.client(&pgproto3.Parse{Name: "s1", Query: "insert into outbox values ($1)"}, &pgproto3.Describe{ObjectType: 'S', Name: "s1"}, sync)
	k.server(parsed, &pgproto3.ParameterDescription{}, &pgproto3.NoData{}, idle)
	k.wantAll()
	k.client(&pgproto3.Bind{PreparedStatement: "s1"}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, sync)
	k.server(bound, &pgproto3.NoData{}, done("INSERT 0 1"), idle)
	k.wantAll("request #2 insert outbox", "part #2", "part #2", "part #2", "part #2", "reply #2 insert outbox, rows=1 write ended=commit")
	k.client(&pgproto3.Close{ObjectType: 'S', Name: "s1"}, sync)
	k.server(&pgproto3.CloseComplete{}, idle)
	k.client(&pgproto3.Bind{PreparedStatement: "s1"}, &pgproto3.Execute{}, sync)
	k.server(broken, idle)
	k.want("request #3 execute", "reply #3 execute, error=23505: duplicate key")
}

func TestForgottenStatements(t *testing.T) {
	for _, c := range []struct {
		sql, tag string
		forgets  bool
	}{
		{"DISCARD ALL", "DISCARD ALL", true}, {"discard plans", "DISCARD PLANS", false},
		{"deallocate all", "DEALLOCATE ALL", true}, {`DEALLOCATE PREPARE "S1"`, "DEALLOCATE", true}, {"deallocate s1", "DEALLOCATE", false},
	} {
		k := readyTalk(t)
		k.client(&pgproto3.Parse{Name: "S1", Query: "select * from outbox"}, sync)
		k.server(parsed, idle)
		k.step(c.sql, idle, c.tag)
		k.lines = nil
		k.client(&pgproto3.Bind{PreparedStatement: "S1"}, &pgproto3.Execute{}, sync)
		want := "request #3 select outbox"
		if c.forgets {
			want = "request #3 execute"
		}
		k.want(want)
	}
}

func TestPreparedBySQL(t *testing.T) {
	k := readyTalk(t)
	k.step("prepare p (int) as insert into outbox values ($1)", idle, "PREPARE")
	k.step("execute p (1)", idle, "INSERT 0 1")
	k.step("execute unknown", idle, "INSERT 0 1")
	k.want("request #2 prepare", "reply #2 prepare", "request #3 insert outbox", "reply #3 insert outbox, rows=1 write ended=commit",
		"request #4 execute", "reply #4 execute, rows=1 write ended=commit")
}

func TestUnnamedStatementIsOverwritten(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("select * from a", "select * from b")...)
	k.client(&pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Parse{Query: "select * from c"}, &pgproto3.Execute{Portal: "p"}, sync)
	k.want("request #2 select a", "request #3 select b", "request #4 select b")
}

// A pipeline: every Execute but the last is answered by its own completion.
func TestPipeline(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("insert into a values (1)", "select * from b", "update c set x = 1")...)
	k.server(parsed, bound, &pgproto3.NoData{}, done("INSERT 0 1"), parsed, bound, row, done("SELECT 1"), parsed, bound, done("UPDATE 0"))
	k.wantAll("request #2 insert a", "request #3 select b", "request #4 update c", "part #4",
		"part #2", "part #2", "part #2", "reply #2 insert a, rows=1 write open",
		"part #3", "part #3", "part #3", "reply #3 select b, rows=1 open",
		"part #4", "part #4", "part #4")
	k.server(idle)
	k.want("reply #4 update c, idle rows=0 ended=commit")
}

// JDBC sends BEGIN ahead of the first statement.
func TestPipelinedBegin(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("BEGIN", "select * from outbox")...)
	k.server(parsed, bound, done("BEGIN"), parsed, bound, done("SELECT 0"), inTx)
	k.client(pipeline("COMMIT")...)
	k.server(parsed, bound, done("COMMIT"), idle)
	k.want("request #2 begin, begin", "request #3 select outbox", "reply #2 begin, open", "reply #3 select outbox, idle rows=0 open",
		"request #4 commit, end idle", "reply #4 commit, ended=commit")
	// A whole transaction at once: at its commit nothing is known to be idle.
	k.client(pipeline("begin", "select * from outbox", "commit", "select * from outbox")...)
	k.server(done("BEGIN"), done("SELECT 0"), done("COMMIT"), done("SELECT 0"), idle)
	k.want("request #5 begin, begin", "request #6 select outbox", "request #7 commit, end", "request #8 select outbox",
		"reply #5 begin, open", "reply #6 select outbox, idle rows=0 open", "reply #7 commit, ended=commit", "reply #8 select outbox, idle rows=0")
	k.client(pipeline("begin", "commit")...)
	k.want("request #9 begin, begin", "request #10 commit, end idle")
}

// The next transaction begins in the pipeline of a busy one, and is idle.
func TestIdleBehindBusy(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("begin", "insert into a values (1)", "commit", "begin")...)
	k.server(done("BEGIN"), done("INSERT 0 1"), done("COMMIT"), done("BEGIN"), inTx)
	k.lines = nil
	k.step("commit", idle, "COMMIT")
	k.want("request #6 commit, end idle", "reply #6 commit, ended=commit")
}

// A begin that the server skipped has opened nothing.
func TestSkippedBegin(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("insert into a values (1)", "begin")...)
	k.server(broken, idle)
	k.step("begin", inTx, "BEGIN")
	k.lines = nil
	k.step("commit", idle, "COMMIT")
	k.want("request #5 commit, end idle", "reply #5 commit, ended=commit")
}

func TestErrorInPipeline(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("insert into a values (1)", "insert into b values (1)", "insert into c values (1)", "insert into d values (1)")...)
	k.client(pipeline("select * from e")...) // behind its own Sync: not skipped
	k.lines = nil
	k.server(parsed, bound, done("INSERT 0 1"), parsed, bound, broken)
	k.want("reply #2 insert a, rows=1 write open", "reply #3 insert b, error=23505: duplicate key",
		"reply #4 insert c, error=skipped: 23505: duplicate key")
	k.server(idle)
	k.want("reply #5 insert d, error=skipped: 23505: duplicate key")
	k.server(parsed, bound, done("SELECT 0"), idle)
	k.want("reply #6 select e, idle rows=0")
}

// The error reaches the client before it has sent the rest of its pipeline.
func TestErrorBeforeSync(t *testing.T) {
	k := readyTalk(t)
	k.client(execute("insert into a values (1)")...)
	k.client(flush)
	k.server(broken)
	k.want("request #2 insert a", "reply #2 insert a, error=23505: duplicate key")
	k.client(execute("insert into b values (1)")...)
	k.client(ask("select 1"))
	k.client(sync)
	k.server(idle)
	k.want("request #3 insert b", "request #4 select", "reply #3 insert b, error=skipped: 23505: duplicate key",
		"reply #4 select, error=skipped: 23505: duplicate key")
	k.client(pipeline("select * from a")...) // in step again
	k.server(parsed, bound, done("SELECT 0"), idle)
	k.want("request #5 select a", "reply #5 select a, idle rows=0")
}

func TestErrorOfParse(t *testing.T) {
	k := readyTalk(t)
	k.client(&pgproto3.Parse{Name: "s", Query: "nonsense"}, &pgproto3.Describe{ObjectType: 'S', Name: "s"}, sync)
	k.server(broken, idle)
	k.wantAll()
	k.step("select * from a", idle, "SELECT 0")
	k.want("request #2 select a", "reply #2 select a, idle rows=0")
}

// A constraint that is checked when the implicit transaction commits.
func TestErrorAtSync(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("insert into a values (1)")...)
	k.server(parsed, bound, done("INSERT 0 1"), broken, idle)
	k.want("request #2 insert a", "reply #2 insert a, error=23505: duplicate key")
}

func TestFailedTransactionExtended(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("begin", "insert into a values (1)", "commit")...)
	k.server(done("BEGIN"), broken, failed)
	k.client(pipeline("rollback")...)
	k.server(done("ROLLBACK"), idle)
	k.want("request #2 begin, begin", "request #3 insert a", "request #4 commit, end", "reply #2 begin, open",
		"reply #3 insert a, open error=23505: duplicate key", "reply #4 commit, open error=skipped: 23505: duplicate key",
		"request #5 rollback, end", "reply #5 rollback, ended=rollback")
}

// A Close between Execute and Sync, as some drivers send it.
func TestCloseBeforeSync(t *testing.T) {
	k := readyTalk(t)
	k.client(execute("insert into a values (1)")...)
	k.client(&pgproto3.Close{ObjectType: 'P'}, sync)
	k.server(parsed, bound, done("INSERT 0 1"), &pgproto3.CloseComplete{})
	k.want("request #2 insert a")
	k.server(idle)
	k.want("reply #2 insert a, rows=1 write ended=commit")
}

// With Flush the reply comes before the Sync, and the Sync commits on its own.
func TestFlush(t *testing.T) {
	k := readyTalk(t)
	k.client(execute("insert into a values (1)")...)
	k.client(flush)
	k.server(parsed, bound, done("INSERT 0 1"))
	k.want("request #2 insert a", "reply #2 insert a, rows=1 write open")
	k.client(sync)
	k.server(idle)
	k.want("part ended=commit")
}

func TestSuspendedPortal(t *testing.T) {
	k := readyTalk(t)
	k.step("begin", inTx, "BEGIN")
	k.lines = nil
	k.client(&pgproto3.Parse{Query: "select * from a"}, &pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 2}, flush)
	k.server(parsed, bound, row, row, &pgproto3.PortalSuspended{})
	k.client(&pgproto3.Execute{Portal: "p", MaxRows: 2}, sync)
	k.server(row, done("SELECT 1"), inTx)
	k.want("request #3 select a", "reply #3 select a, rows=2 open", "request #4 select a", "reply #4 select a, rows=1 open")
	k.client(&pgproto3.Close{ObjectType: 'P', Name: "p"}, &pgproto3.Execute{Portal: "p"}, sync)
	k.want("request #5 execute")
}

func TestEmptyExecute(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("", "select 1")...)
	k.server(parsed, bound, &pgproto3.EmptyQueryResponse{}, done("SELECT 1"), idle)
	k.want("request #2 empty", "request #3 select", "reply #2 empty, open", "reply #3 select, rows=1")
}

// An Execute whose SQL is not known is judged by its tag.
func TestUnknownExecute(t *testing.T) {
	for tag, want := range map[string]string{
		"INSERT 0 2": "reply #2 execute, rows=2 write ended=commit", "SELECT 0": "reply #2 execute, idle rows=0",
		"COMMIT": "reply #2 execute, ended=commit", "ROLLBACK": "reply #2 execute, ended=rollback", "LISTEN": "reply #2 execute",
	} {
		k := readyTalk(t)
		k.client(&pgproto3.Bind{PreparedStatement: "?"}, &pgproto3.Execute{}, sync)
		k.server(bound, done(tag), idle)
		k.want("request #2 execute", want)
	}
}

func TestManyStatementsAreBounded(t *testing.T) {
	c := New()
	for i := range rememberAtMost + 100 {
		name := fmt.Sprint("s", i)
		for _, m := range []pgproto3.FrontendMessage{&pgproto3.Parse{Name: name, Query: "select 1"}, &pgproto3.Bind{DestinationPortal: name, PreparedStatement: name}} {
			if _, err := c.Read(frame.FromClient, encoded(t, m)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(c.statements) != rememberAtMost || len(c.portals) != rememberAtMost {
		t.Errorf("%d statements and %d portals are remembered, want %d", len(c.statements), len(c.portals), rememberAtMost)
	}
}

func TestDataRowsAllocateNothing(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("select * from outbox")...)
	f := encoded(t, row)
	if n := testing.AllocsPerRun(100, func() {
		if n, err := k.c.Split(frame.FromServer, f); n != len(f) || err != nil {
			t.Fatal(n, err)
		}
		if _, err := k.c.Read(frame.FromServer, f); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a DataRow costs %v allocations", n)
	}
}

func BenchmarkDataRow(b *testing.B) {
	c := New()
	f := typed('D', "\x00\x01\x00\x00\x00\x011")
	for b.Loop() {
		n, _ := c.Split(frame.FromServer, f)
		_, _ = c.Read(frame.FromServer, f[:n])
	}
}
