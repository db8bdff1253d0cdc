package pgwire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// play feeds a script to a conversation and returns what it made of it. A
// script is a list of pieces: a byte whose lowest bit is the direction and
// whose other bits are a length, then that many bytes. Each piece is handed
// over in chunks of at most size bytes.
func play(script []byte, size int) (out []string) {
	c := New()
	var buffers [2][]byte
	var opaque [2]bool
	for len(script) > 0 {
		dir, n := frame.Direction(script[0]&1), int(script[0]>>1)
		script = script[1:]
		n = min(n, len(script))
		piece := script[:n]
		script = script[n:]
		for len(piece) > 0 {
			k := min(size, len(piece))
			buffers[dir] = append(buffers[dir], piece[:k]...)
			piece = piece[k:]
			for !opaque[dir] {
				p := buffers[dir]
				n, err := c.Split(dir, p)
				if err != nil {
					out = append(out, fmt.Sprint(dir, " unreadable"))
					opaque[dir] = true
					break
				}
				if n == 0 || n > len(p) {
					break
				}
				f := bytes.Clone(p[:min(n, frame.MaxRead)])
				events, err := c.Read(dir, f)
				clear(f) // nothing may be kept
				out = append(out, fmt.Sprint(dir, " ", n, " ", err != nil))
				for _, e := range events {
					out = append(out, show(e))
				}
				buffers[dir] = p[n:]
			}
		}
	}
	return out
}

// piece writes one message into a script.
func piece(script []byte, dir frame.Direction, b []byte) []byte {
	for len(b) > 0 {
		n := min(len(b), 127)
		script = append(script, byte(dir)|byte(n)<<1)
		script = append(script, b[:n]...)
		b = b[n:]
	}
	return script
}

func FuzzConversation(f *testing.F) {
	start := func() []byte {
		s := piece(nil, frame.FromClient, untyped(codeSSL, ""))
		s = piece(s, frame.FromServer, []byte("N"))
		s = piece(s, frame.FromClient, untyped(3<<16, "user\x00u\x00\x00"))
		s = piece(s, frame.FromServer, typed('K', "\x00\x00\x00\x01\x00\x00\x00\x02"))
		return piece(s, frame.FromServer, typed('Z', "I"))
	}
	s := start()
	for _, m := range pipeline("begin", "insert into outbox values ($1)", "commit") {
		b, _ := m.Encode(nil)
		s = piece(s, frame.FromClient, b)
	}
	for _, m := range back(parsed, bound, done("BEGIN"), row, done("INSERT 0 1"), broken, idle) {
		b, _ := m.Encode(nil)
		s = piece(s, frame.FromServer, b)
	}
	f.Add(s)
	s = start()
	for _, sql := range []string{"copy t from stdin", "START_REPLICATION SLOT s", "begin; select 1; commit", "discard all"} {
		s = piece(s, frame.FromClient, typed('Q', sql+"\x00"))
		for _, m := range back(&pgproto3.CopyInResponse{}, &pgproto3.CopyBothResponse{}, done("SELECT 0"), idle) {
			b, _ := m.Encode(nil)
			s = piece(s, frame.FromServer, b)
		}
	}
	f.Add(s)
	s = start() // polls that find the same, by both protocols
	for range 3 {
		s = piece(s, frame.FromClient, typed('Q', "select take_batch(1)\x00"))
		s = piece(s, frame.FromClient, typed('P', "s\x00select * from outbox where id > $1\x00\x00\x00"))
		s = piece(s, frame.FromClient, typed('B', "\x00s\x00\x00\x00\x00\x01\x00\x00\x00\x011\x00\x00"))
		s = piece(s, frame.FromClient, typed('E', "\x00\x00\x00\x00\x00"))
		s = piece(s, frame.FromClient, typed('S', ""))
		for _, m := range back(row, done("SELECT 1"), idle, parsed, bound, row, done("SELECT 1"), idle) {
			b, _ := m.Encode(nil)
			s = piece(s, frame.FromServer, b)
		}
	}
	f.Add(s)
	f.Add(piece(piece(nil, frame.FromClient, untyped(codeGSS, "")), frame.FromServer, []byte("G")))
	f.Add(piece(nil, frame.FromClient, untyped(codeCancel, "12345678")))
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 1<<12)]
		whole := play(script, 1<<20)
		for _, size := range []int{1, 7} {
			if again := play(script, size); fmt.Sprint(again) != fmt.Sprint(whole) {
				t.Fatalf("in chunks of %d:\n%q\nwhole:\n%q", size, again, whole)
			}
		}
		numbers(t, script)
	})
}

// numbers checks that requests are numbered in order, and that each exchange
// is ended at most once, after it began.
func numbers(t *testing.T, script []byte) {
	last, open := uint64(0), map[string]bool{}
	for _, line := range play(script, 1<<20) {
		var kind string
		var n uint64
		if c, _ := fmt.Sscanf(line, "%s #%d", &kind, &n); c != 2 {
			continue
		}
		key := fmt.Sprint(n)
		switch kind {
		case "request", "oneway", "push":
			if n != last+1 {
				t.Fatalf("%s has the number after %d", line, last)
			}
			last, open[key] = n, kind == "request"
		case "reply":
			if !open[key] {
				t.Fatalf("%s ends nothing", line)
			}
			open[key] = false
		}
	}
}
