package harness

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
)

// openLogged is a session of one stack whose Postgres logs every statement.
func openLogged(t *testing.T) *Session {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options, err := Options{Jobs: 1}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{options: options, exe: exe, dir: t.TempDir()}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	argv, env := s.self(roles.Guard)
	// The context of the test ends before its cleanups run.
	ctx := context.Background()
	if s.guard, err = proc.StartGuard(ctx, argv[0], env); err != nil {
		t.Fatal(err)
	}
	st, err := stack.Start(ctx, stack.Options{
		Guard: s.guard, Role: s.self, MaxLog: 64 << 20,
		// The name of the client, the session, and what it does.
		PostgresSettings: map[string]string{"log_statement": "all", "log_line_prefix": "<%a|%c> ", "log_min_messages": "warning"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.stacks = []*stack.Stack{st}
	return s
}

// Postgres's own log of every statement, and the sequence of the stream, are
// what the proxies saw: nothing that a role does escapes the record, and so no
// cell escapes the sweep by not being seen.
func TestTheRecordAgreesWithTheServers(t *testing.T) {
	t.Parallel()
	s := openLogged(t)
	for _, c := range []struct{ name, scenario string }{
		{"stepwise", threeOrders + "  - abort: {order: x1, customer: c1}\n"},
		{"batch", batchPace + threeOrders},
		{"overlap", oneOrder + "  - overlap: [{order: o2}, {order: o3}]\n"},
		{"two relays", "replicas: 2\n" + threeOrders},
		{"killed while a reply was on its way", faulted(twoOrders, at(`relay.0/postgres "update outbox" #1 unanswered`, "kill"))},
		{"killed before a request arrived", faulted(twoOrders, at(`app.0/postgres "commit" #1 before`, "kill"))},
		{"cut", faulted(twoOrders, at(`consumer.0/postgres "insert effects" #1 before`, "cut"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			postgres := s.stacks[0].Postgres
			from := mark(t, postgres, c.name+", begin")
			v := attempt(t, s, reference(t), parse(t, c.scenario), 1)[0]
			if v.judgement.Verdict != properties.Pass {
				t.Fatalf("the verdict is %s: %s", v.judgement.Verdict, v.told())
			}
			to := mark(t, postgres, c.name+", end")
			agree(t, recorded(v.history), logged(t, postgres, from, to))
			published(t, v.history)
		})
	}
}

// mark writes a line into the server's log and waits for it: what every backend
// said before is in the log then. It returns where the line is.
func mark(t *testing.T, p *stack.Postgres, text string) int {
	t.Helper()
	user, password := p.Credentials()
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:%s@%s/postgres?sslmode=disable", user, password, p.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "SELECT 'mark: "+text+"'"); err != nil {
		t.Fatal(err)
	}
	for {
		log, err := os.ReadFile(p.Log())
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.Index(string(log), "'mark: "+text+"'"); i >= 0 {
			return i
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("the mark is not in the log: %v", t.Context().Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// sessionLog is what one session did, as labels, under the instance that it was
// of.
type sessionLog struct {
	instance string
	labels   []string
	// open: the last label was sent and its end was not seen.
	open bool
}

func (s sessionLog) key() string { return s.instance + ": " + strings.Join(s.labels, ", ") }

var logLine = regexp.MustCompile(`(?m)^<((?:app|relay|consumer)\.[0-9]+)\|([0-9a-f.]+)> LOG:  (?:statement|execute [^:]*): (.*(?:\n\t.*)*)`)

// logged reads the sessions of the roles from a part of the server's log.
func logged(t *testing.T, p *stack.Postgres, from, to int) []sessionLog {
	t.Helper()
	text, err := os.ReadFile(p.Log())
	if err != nil {
		t.Fatal(err)
	}
	sessions := map[string]*sessionLog{}
	for _, m := range logLine.FindAllStringSubmatch(string(text[from:to]), -1) {
		if sessions[m[2]] == nil {
			sessions[m[2]] = &sessionLog{instance: m[1]}
		}
		sessions[m[2]].labels = append(sessions[m[2]].labels, labelOf(t, m[3]))
	}
	return sorted(sessions)
}

// statement finds the kind and the table of the statements of polling. It is
// deliberately not the codec's own.
var statement = regexp.MustCompile(`(?is)^\s*(?:(begin|commit|rollback)\b|(insert) into (\w+)|(update) (\w+)|(select) .*?\bfrom (\w+))`)

func labelOf(t *testing.T, sql string) string {
	t.Helper()
	m := statement.FindStringSubmatch(sql)
	if m == nil {
		t.Fatalf("the log has a statement that polling does not make: %s", sql)
	}
	return strings.ToLower(strings.Join(slices.DeleteFunc(m[1:], func(s string) bool { return s == "" }), " "))
}

// recorded reads the connections to Postgres from a history: every request that
// was delivered, by the label that its reply gave it.
func recorded(history []properties.Event) []sessionLog {
	type exchange struct {
		conn   int
		number uint64
	}
	sessions := map[int]*sessionLog{}
	place := map[exchange]int{}
	for _, e := range history {
		w := e.Wire
		if w == nil || w.Label == "connect" || !strings.HasSuffix(w.Link, "/postgres") {
			continue
		}
		label, key := strings.TrimSuffix(w.Label, " idle"), exchange{w.Conn, w.Exchange}
		switch w.What {
		case properties.WireRequest:
			if sessions[w.Conn] == nil {
				sessions[w.Conn] = &sessionLog{instance: strings.TrimSuffix(w.Link, "/postgres")}
			}
			s := sessions[w.Conn]
			place[key] = len(s.labels)
			s.labels, s.open = append(s.labels, label), true
		case properties.WireReply, properties.WireAnswered:
			s := sessions[w.Conn]
			s.labels[place[key]] = label
			s.open = s.open && place[key] != len(s.labels)-1
		}
	}
	return sorted(sessions)
}

func sorted[K comparable](sessions map[K]*sessionLog) []sessionLog {
	var list []sessionLog
	for _, s := range sessions {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b sessionLog) int { return strings.Compare(a.key(), b.key()) })
	return list
}

// agree compares session by session. What the proxy delivered last before a
// connection broke may never have been read by the server.
func agree(t *testing.T, wire, server []sessionLog) {
	t.Helper()
	if len(server) == 0 {
		t.Fatal("the server's log has no session of any role")
	}
	left := map[string]int{}
	for _, s := range server {
		left[s.key()]++
	}
	total := 0
	for _, s := range wire {
		total += len(s.labels)
		if left[s.key()] == 0 && s.open {
			s.labels = s.labels[:len(s.labels)-1]
			if len(s.labels) == 0 {
				continue
			}
		}
		if left[s.key()] == 0 {
			t.Errorf("the wire has a connection that the server's log has not:\n%s", s.key())
			continue
		}
		left[s.key()]--
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if left[key] > 0 {
			t.Errorf("the server's log has a session that the wire has not:\n%s", key)
		}
	}
	t.Logf("%d connections, %d exchanges", len(wire), total)
}

// published compares the publishes on the relays' links, and what the broker
// answered to them, with the messages of the stream.
func published(t *testing.T, history []properties.Event) {
	t.Helper()
	var acknowledged, stream []uint64
	sent := 0
	for _, e := range history {
		switch {
		case e.Wire != nil && e.Wire.Label == "publish" && e.Wire.What == properties.WireRequest:
			sent++
		case e.Wire != nil && e.Wire.Label == "publish" && (e.Wire.What == properties.WireReply || e.Wire.What == properties.WireAnswered):
			acknowledged = append(acknowledged, e.Wire.Position)
		case e.Ledger != nil && e.Ledger.Name == properties.LedgerLog && e.Ledger.Final:
			for _, m := range e.Ledger.Log {
				stream = append(stream, m.Position)
			}
		}
	}
	slices.Sort(acknowledged)
	acknowledged = slices.Compact(acknowledged)
	for i, position := range stream {
		if position != uint64(i+1) {
			t.Errorf("the stream's messages have the sequence %v: want 1 and on, without gaps", stream)
			break
		}
	}
	if !slices.Equal(acknowledged, stream) || sent != len(stream) {
		t.Errorf("%d publishes were delivered, the broker acknowledged %v, and the stream holds %v", sent, acknowledged, stream)
	}
}
