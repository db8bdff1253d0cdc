package pgwire

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLabel(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		// The plain ones.
		{"INSERT INTO outbox (id) VALUES ($1)", "insert outbox"},
		{"insert into public.outbox values (1, 'x'), (2, 'y')", "insert outbox"},
		{`INSERT INTO "Shop"."OutBox" AS o (id) SELECT 1`, "insert outbox"},
		{"UPDATE outbox SET sent_at = now() WHERE id = ANY($1)", "update outbox"},
		{"update only outbox o set x = 1", "update outbox"},
		{"DELETE FROM ONLY shop.outbox USING t WHERE true", "delete outbox"},
		{"delete from only (outbox)", "delete outbox"},
		{"MERGE INTO stock s USING d ON true WHEN MATCHED THEN UPDATE SET x = 1 WHEN NOT MATCHED THEN INSERT VALUES (1)", "merge stock"},
		{"SELECT id, payload FROM outbox WHERE sent_at IS NULL FOR UPDATE SKIP LOCKED", "select outbox"},
		{"select * from outbox o join orders r on r.id = o.order_id", "select outbox"},
		{"select * from orders, outbox", "select orders"},
		{"select * from (outbox join orders using (id))", "select outbox"},
		{"select * from ((outbox o join a on true) join b on true)", "select outbox"},
		{"select * from only outbox", "select outbox"},
		{"TABLE outbox", "select outbox"},
		{"VALUES (1), (2)", "values"},
		{"(select id from outbox) union all (select id from old)", "select outbox"},
		{"select 1 union select id from outbox", "select outbox"},
		{"select a is distinct from b, c is not distinct from d from outbox", "select outbox"},
		{"select extract(year from at), trim(both ' ' from x), substring(x from 2) from outbox", "select outbox"},
		{"select (select max(id) from seen), o.id from outbox o", "select outbox"},
		{"select * into copy_of from outbox", "select outbox"},
		// Sub-queries.
		{"select * from (select * from outbox order by id) q where x > 1", "select outbox"},
		{"select q.* from lateral (select id from (select id from shop.outbox) a) q", "select outbox"},
		{"select exists (select 1 from outbox where id = $1)", "select outbox"},
		{"select coalesce((select max(id) from outbox), 0)", "select outbox"},
		{"select * from (values (1), (2)) v(x)", "select"},
		// Functions.
		{"SELECT claim_batch($1, 10)", "select claim_batch()"},
		{"select shop.claim_batch(10) as batch", "select claim_batch()"},
		{`select "Shop"."Claim Batch"(1)`, "select claim batch()"},
		{"select * from claim_batch(10) as t(id int, payload text)", "select claim_batch()"},
		{"select * from rows from (claim_batch(1), other(2))", "select claim_batch()"},
		{"select * from lateral unnest($1::int[]) u", "select unnest()"},
		{"select (claim_one()).id", "select claim_one()"},
		{"select 1 + f(2)", "select f()"},
		{"select case when true then f(1) else g(2) end", "select f()"},
		{"select pg_try_advisory_xact_lock(42)", "select pg_try_advisory_xact_lock()"},
		{"select 1.5::numeric(10, 2), cast($1 as varchar(5))", "select"},
		{"select f((select id from outbox))", "select f()"},
		// Nothing.
		{"SELECT 1", "select"},
		{"select $1::text", "select"},
		{"select", "select"},
		{"", "empty"},
		{" ; -- nothing\n ;; /* at all */ ", "empty"},
		{"42", "statement"},
		{";;'x'", "statement"},
		// Data-changing parts.
		{"WITH c AS (SELECT id FROM outbox WHERE sent IS NULL LIMIT 10 FOR UPDATE SKIP LOCKED) UPDATE outbox o SET claimed = true FROM c WHERE c.id = o.id RETURNING o.*", "update outbox"},
		{"with u as (update outbox set sent = true returning id) select * from u", "update outbox"},
		{"with u as not materialized (update outbox set sent = true returning id) insert into log select id from u", "update outbox, insert log"},
		{"WITH d AS (DELETE FROM outbox RETURNING *), i AS (INSERT INTO archive SELECT * FROM d) SELECT count(*) FROM d", "delete outbox, insert archive"},
		{"with a as (insert into t values (1) returning id), b as (insert into t values (2) returning id) select 1", "insert t"},
		{"with a as (select 1), b (x, y) as materialized (select id, 2 from outbox) select * from b, a", "select outbox"},
		{"with recursive r as (select id from tree union all select t.id from tree t join r on true) search depth first by id set o select * from r", "select tree"},
		{"with c as (select * from claim_batch(1)) select * from c", "select claim_batch()"},
		{"with c as (select 1) select * from shop.c", "select c"},
		{"select update, delete, insert from words where merge = 1 for update", "select words"},
		{"insert into t values (1) on conflict (id) do update set x = 2", "insert t"},
		{"with x as (select 1) nonsense", "with"},
		// Transactions.
		{"begin", "begin"},
		{"BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE;", "begin"},
		{"START TRANSACTION READ ONLY", "begin"},
		{"commit", "commit"}, {"COMMIT WORK AND CHAIN", "commit"}, {"END", "commit"}, {"end transaction", "commit"},
		{"rollback", "rollback"}, {"ABORT", "rollback"}, {"rollback and no chain", "rollback"},
		{"rollback to savepoint s", "rollback to"}, {"ROLLBACK TRANSACTION TO s", "rollback to"},
		{"savepoint s", "savepoint"}, {"RELEASE SAVEPOINT s", "release"},
		{"prepare transaction 'x'", "prepare transaction"},
		{"commit prepared 'x'", "commit prepared"}, {"rollback prepared 'x'", "rollback prepared"},
		// The others.
		{"SET LOCAL lock_timeout = '1s'", "set"}, {"show server_version", "show"}, {"reset all", "reset"},
		{"LISTEN outbox", "listen"}, {"unlisten *", "unlisten"}, {"notify outbox, 'x'", "notify"},
		{"copy outbox (id, payload) from stdin binary", "copy outbox"}, {"copy shop.outbox to stdout", "copy outbox"},
		{"COPY (SELECT * FROM outbox) TO STDOUT", "copy outbox"},
		{"copy (delete from outbox returning *) to stdout", "delete outbox"},
		{"truncate table only outbox, orders", "truncate outbox"},
		{"call shop.place_order($1)", "call place_order()"},
		{"do $$ begin insert into t values (1); end $$", "do"},
		{"LOCK TABLE outbox IN SHARE MODE", "lock outbox"},
		{"create table if not exists shop.outbox (id int)", "create table outbox"},
		{"create unlogged table t as select 1", "create table t"},
		{"create unique index concurrently i on outbox (id)", "create index"},
		{"create or replace function f() returns int language sql begin atomic select case when true then 1 end; insert into t values (1); end; select 1", "create function f; select"},
		{"create rule r as on insert to t do (insert into a values (1); insert into b values (2))", "create rule r"},
		{"alter table only outbox add x int", "alter table outbox"},
		{"drop table if exists outbox", "drop table outbox"},
		{"drop index concurrently i", "drop index"},
		{"create materialized view if not exists v as select 1", "create materialized view v"},
		{"declare c cursor for select * from outbox", "declare"}, {"fetch 10 from c", "fetch"},
		{"deallocate all", "deallocate"}, {"DISCARD ALL", "discard"},
		{"prepare p (int) as insert into outbox values ($1)", "prepare"}, {"execute p(1)", "execute"},
		{"explain analyze verbose select * from outbox", "explain select outbox"},
		{"explain (analyze, costs off) (select 1 from outbox)", "explain select outbox"},
		{"EXPLAIN", "explain"},
		{"IDENTIFY_SYSTEM", "identify_system"},
		{`START_REPLICATION SLOT "s" LOGICAL 0/0 (proto_version '1', publication_names '"p"')`, "start_replication"},
		{"CREATE_REPLICATION_SLOT s LOGICAL pgoutput", "create_replication_slot"},
		{"Vacuum (full) outbox", "vacuum"}, {"frobnicate the outbox", "frobnicate"},
		// Several statements.
		{"BEGIN; insert into outbox values (1); COMMIT", "begin; insert outbox; commit"},
		{"insert into a values (1); insert into a values (2);", "insert a"},
		{"set a = 1; select 1 from b; select 1 from c; select 1 from d; select 1 from e; select 1", "set; select b; select c; select d; ..."},
		// What must not confuse.
		{"/* from nowhere /* nested */ insert into x */ select /* from y */ 1 -- from z\n from outbox", "select outbox"},
		{"/*traceparent='00-ab-cd-01'*/ UPDATE outbox SET x = 1 /*action='from t; x'*/", "update outbox"},
		{"-- name: ClaimBatch :many\nselect * from outbox", "select outbox"},
		{"select 'it''s from x; y' from outbox", "select outbox"},
		{`select E'it\'s; from x' from outbox`, "select outbox"},
		{`select 'back\' from outbox`, "select outbox"},
		{`select U&'d\0061' , B'01', x'ff', n'x' from outbox`, "select outbox"},
		{"select $tag$ from x; $$ $tag$, $1, $$;$$ from outbox", "select outbox"},
		{`select "from", ";" from outbox`, "select outbox"},
		{`select * from "Out""Box;` + "\n" + `"`, "select out__box;_"},
		{"select * from Bestellungen_Ü", "select bestellungen_ü"},
		{"select * from \xff\xfe", "select __"},
		{`select * from U&"outbox"`, "select outbox"},
		{"select e.id from e", "select e"},
		{"select * from outbox where id in ($1,$2) and x = :name", "select outbox"},
		{"select $tag$ never closed from x", "select"},
		{"select 'never closed from x", "select"},
		{"select * from (((((", "select"},
		{")) select 1", "statement"},
		{"select * from " + strings.Repeat("x", 200), "select " + strings.Repeat("x", 63)},
		{"truncate " + strings.Repeat("x", 62) + "; truncate " + strings.Repeat("é", 60), "truncate " + strings.Repeat("x", 62) + "; truncate " + strings.Repeat("é", 17) + "..."},
	} {
		if got := Label(c.sql).Label; got != c.want {
			t.Errorf("Label(%q)\n got %q\nwant %q", c.sql, got, c.want)
		}
	}
}

func TestStatement(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"begin", "begin quiet"},
		{"begin; insert into t values (1)", "begin changes"},
		{"begin; insert into t values (1); commit", "changes"},
		{"insert into t values (1); commit", "end changes"},
		{"commit", "end quiet"},
		{"commit and chain", "begin end quiet"},
		{"commit; begin", "begin end quiet"},
		{"rollback to s", "quiet"},
		{"prepare transaction 'x'", "end changes"},
		{"select * from t", ""},
		{"select 1", "quiet"},
		{"select pg_advisory_lock(1)", "quiet"},
		{"select pg_notify('a', 'b')", ""},
		{"select pg_logical_emit_message(true, 'outbox', 'x')", "changes"},
		{"select * from claim_batch(1)", "changes"},
		{"select * into x from t", "changes"},
		{"copy t from stdin", "changes"},
		{"copy t to stdout", ""},
		{"listen t", ""},
		{"explain insert into t values (1)", "quiet"},
		{"explain analyze insert into t values (1)", "changes"},
		{"", "quiet"},
	} {
		s := Label(c.sql)
		var got []string
		for word, set := range map[string]bool{"begin": s.Begin, "end": s.End, "changes": s.Changes, "quiet": s.Quiet} {
			if set {
				got = append(got, word)
			}
		}
		if len(got) != len(strings.Fields(c.want)) {
			t.Errorf("Label(%q) = %v, want %q", c.sql, got, c.want)
		}
		for _, w := range got {
			if !strings.Contains(c.want, w) {
				t.Errorf("Label(%q) = %v, want %q", c.sql, got, c.want)
			}
		}
	}
}

// TestUncounted holds the statements whose tag can say no rows though rows
// were changed: taking those for idle would hide a write.
func TestUncounted(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want bool
	}{
		{"update t set x = 1", false},
		{"with u as (update t set x = 1 returning id) select * from u", false},
		{"with u as (update t set x = 1 returning id) select 1 where false", true},
		{"with u as (update t set x = 1 returning id) insert into log select id from u", false},
		{"with u as (update t set x = 1 returning id) insert into log select id from u on conflict do nothing", true},
		{"with d as (delete from t returning *), i as (insert into a select * from d) select * from d", false},
		{"with d as (delete from t returning *), i as (insert into a select * from d returning id) select * from i", false},
		{"with d as (delete from t returning *), i as (insert into a values (1)) select * from d", true},
		{"with c as (select id from t) update t set x = 1 from c where c.id = t.id", false},
		{"create table a as select * from t", true},
		{"copy (delete from t returning 1) to stdout", true},
	} {
		s := Label(c.sql)
		if got := s.part(0)&uncounted != 0; got != c.want {
			t.Errorf("%q: uncounted is %v, want %v", c.sql, got, c.want)
		}
	}
}

func FuzzLabel(f *testing.F) {
	for _, seed := range []string{
		"select * from outbox", "with u as (update t set x = 1 returning *) insert into l select * from u",
		"begin; insert into \"A\" values ($1, E'\\'', $$;$$); commit", "create function f() begin atomic select 1; end; select 2",
		"/* /* */ */ -- x\nselect 'a''b' from U&\"x\" where (((", "select f(g(h(1)))", "explain (analyze) explain select 1",
		"deallocate prepare \"x\"; execute y; prepare z as select 1; discard all", "\xff\xc3\xa9\"\n\"", "copy (select 1) to stdout",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		s := Label(sql)
		switch {
		case s.Label == "", len(s.Label) > maxLabel, !utf8.ValidString(s.Label), strings.ContainsAny(s.Label, "\"\n\r\x00"):
			t.Fatalf("Label(%q) = %q", sql, s.Label)
		case s.prepared != nil && (len(s.prepared.Label) > maxLabel || s.prepared.Label == ""):
			t.Fatalf("Label(%q) prepares %q", sql, s.prepared.Label)
		}
		if again := Label(sql); again.Label != s.Label {
			t.Fatalf("Label(%q) is %q, then %q", sql, s.Label, again.Label)
		}
	})
}

// TestLabelIsLinear guards against a text that takes for ever: long lists,
// deep nesting, and many entries of WITH.
func TestLabelIsLinear(t *testing.T) {
	const n = 1 << 19
	for _, sql := range []string{
		strings.Repeat("(", n), "select " + strings.Repeat("(select ", n/8), strings.Repeat("a;", n/2),
		"insert into t values " + strings.Repeat("($1,'x'),", n/9),
		"with a as (select 1)" + strings.Repeat(", b as (update t set x = 1)", n/27) + " select 1",
		"select " + strings.Repeat("a from (", n/8), strings.Repeat("/*", n/2), strings.Repeat("$a$", n/3), strings.Repeat("with a as (", n/11),
		strings.Repeat("explain ", n/8), strings.Repeat("prepare a as ", n/13), strings.Repeat("'", n), "select f" + strings.Repeat("(f", n/2),
	} {
		if label := Label(sql).Label; label == "" || len(label) > maxLabel {
			t.Errorf("%.30q is labelled %q", sql, label)
		}
	}
}
