package pgwire

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// talk plays a conversation and writes down its events, one line each. Parts
// that belong to no exchange and tell nothing are left out.
type talk struct {
	t     *testing.T
	c     *Conversation
	lines []string
}

func newTalk(t *testing.T) *talk { return &talk{t: t, c: New()} }

// ready is a talk behind its start-up, with a clean page.
func readyTalk(t *testing.T) *talk {
	k := newTalk(t)
	k.client(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "u"}})
	k.server(&pgproto3.AuthenticationOk{}, idle)
	k.lines = nil
	return k
}

var (
	idle   = &pgproto3.ReadyForQuery{TxStatus: 'I'}
	inTx   = &pgproto3.ReadyForQuery{TxStatus: 'T'}
	failed = &pgproto3.ReadyForQuery{TxStatus: 'E'}
	sync   = &pgproto3.Sync{}
	flush  = &pgproto3.Flush{}
	row    = &pgproto3.DataRow{Values: [][]byte{[]byte("1")}}
	bound  = &pgproto3.BindComplete{}
	parsed = &pgproto3.ParseComplete{}
	broken = &pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "23505", Message: "duplicate key"}
)

func ask(sql string) *pgproto3.Query { return &pgproto3.Query{String: sql} }
func done(tag string) *pgproto3.CommandComplete {
	return &pgproto3.CommandComplete{CommandTag: []byte(tag)}
}

// execute is what a driver sends for one statement without its Sync.
func execute(sql string) []pgproto3.FrontendMessage {
	return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}}
}

// pipeline is several statements and one Sync.
func pipeline(sql ...string) (all []pgproto3.FrontendMessage) {
	for _, s := range sql {
		all = append(all, execute(s)...)
	}
	return append(all, sync)
}

func (k *talk) client(messages ...pgproto3.FrontendMessage) {
	k.t.Helper()
	for _, m := range messages {
		k.raw(frame.FromClient, encoded(k.t, m))
	}
}

func (k *talk) server(messages ...pgproto3.BackendMessage) {
	k.t.Helper()
	for _, m := range messages {
		k.raw(frame.FromServer, encoded(k.t, m))
	}
}

func encoded(t *testing.T, m pgproto3.Message) []byte {
	t.Helper()
	b, err := m.Encode(nil)
	if err != nil {
		t.Fatalf("encode %T: %v", m, err)
	}
	return b
}

// raw splits and reads bytes that are whole frames.
func (k *talk) raw(dir frame.Direction, b []byte) {
	k.t.Helper()
	for len(b) > 0 {
		n, err := k.c.Split(dir, b)
		if err != nil || n <= 0 || n > len(b) {
			k.t.Fatalf("Split(%d, %q) = %d, %v", dir, b, n, err)
		}
		events, err := k.c.Read(dir, b[:min(n, frame.MaxRead)])
		if err != nil {
			k.t.Fatalf("Read(%d, %q): %v", dir, b[:n], err)
		}
		for _, e := range events {
			if line := show(e); line != "part" {
				k.lines = append(k.lines, line)
			}
		}
		b = b[n:]
	}
}

// want compares the lines so far, without parts of exchanges, and begins a new page.
func (k *talk) want(lines ...string) {
	k.t.Helper()
	var got []string
	for _, l := range k.lines {
		if !strings.HasPrefix(l, "part #") || strings.Count(l, " ") > 1 {
			got = append(got, l)
		}
	}
	k.compare(got, lines)
}

// wantAll compares the lines so far, parts of exchanges included.
func (k *talk) wantAll(lines ...string) {
	k.t.Helper()
	k.compare(k.lines, lines)
}

func (k *talk) compare(got, want []string) {
	k.t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		k.t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	k.lines = nil
}

func show(e frame.Event) string {
	var b strings.Builder
	b.WriteString([]string{"part", "request", "reply", "oneway", "push"}[e.Kind])
	add := func(when bool, format string, args ...any) {
		if when {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	add(e.Exchange != 0, "#%d", e.Exchange)
	add(e.Label != "", "%s,", e.Label)
	add(e.Begin, "begin")
	add(e.End, "end")
	add(e.Idle, "idle")
	add(e.Kind == frame.Reply && e.Rows >= 0, "rows=%d", e.Rows)
	add(e.Same != 0, "same=#%d", e.Same)
	add(e.Write, "write")
	add(e.Ended != "", "ended=%s", e.Ended)
	add(e.InTransaction, "open")
	add(e.Error != "", "error=%s", e.Error)
	add(e.Backend != 0, "backend=%d", e.Backend)
	add(e.Cancel, "cancel")
	return strings.TrimSuffix(b.String(), ",")
}

// typed is a message written by hand.
func typed(tag byte, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{tag}, uint32(len(body)+4)), body...)
}

// untyped is a start-up packet written by hand.
func untyped(code uint32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)+8))
	return append(binary.BigEndian.AppendUint32(b, code), body...)
}
