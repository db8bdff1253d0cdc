package natswire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// feed hands a script to a conversation and returns what it made of it. A
// script is a list of pieces: a byte whose lowest bit is the direction and
// whose other bits are a length, then that many bytes. Each piece is handed
// over in chunks of at most size bytes.
func feed(script []byte, size int) (out []string) {
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
				f := bytes.Clone(p[:n])
				events, err := c.Read(dir, f)
				clear(f) // nothing may be kept
				out = append(out, fmt.Sprint(dir, " ", n, " ", err))
				for _, e := range events {
					out = append(out, show(e))
				}
				buffers[dir] = p[n:]
			}
		}
	}
	return out
}

// piece writes bytes of one direction into a script.
func piece(script []byte, dir frame.Direction, s string) []byte {
	for b := []byte(s); len(b) > 0; {
		n := min(len(b), 127)
		script = append(script, byte(dir)|byte(n)<<1)
		script = append(script, b[:n]...)
		b = b[n:]
	}
	return script
}

func FuzzConversation(f *testing.F) {
	s := piece(nil, frame.FromServer, "INFO {\"client_id\":1}\r\n")
	s = piece(s, frame.FromClient, "CONNECT {}\r\nPING\r\n"+data("HPUB a _INBOX.1", "NATS/1.0\r\nk: v\r\n\r\n", "x"))
	s = piece(s, frame.FromServer, "PONG\r\n"+data("MSG _INBOX.1 1", "", `{"stream":"s","seq":1}`)+data("MSG a 2 $JS.ACK.s.c.1.2.3.4.5", "", "x"))
	f.Add(piece(s, frame.FromClient, data("PUB $JS.ACK.s.c.1.2.3.4.5", "", "-NAK")+data("PUB $JS.API.STREAM.INFO.s _INBOX.2", "", "")+"UNSUB 1\r\n"))
	f.Add(piece(nil, frame.FromServer, data("HMSG _INBOX.1 1", "NATS/1.0 503\r\n\r\n", "")+"+OK\r\n-ERR 'x'\r\nPING\r\n"))
	f.Add(piece(nil, frame.FromServer, "INFO {\"tls_required\":true}\r\n"))
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 1<<12)]
		whole := feed(script, 1<<20)
		for _, size := range []int{1, 7} {
			if again := feed(script, size); fmt.Sprint(again) != fmt.Sprint(whole) {
				t.Fatalf("in chunks of %d:\n%q\nwhole:\n%q", size, again, whole)
			}
		}
		last, open := uint64(0), map[uint64]bool{}
		for _, l := range whole {
			var kind string
			var n uint64
			if c, _ := fmt.Sscanf(l, "%s #%d", &kind, &n); c != 2 {
				continue
			}
			switch {
			case kind == "reply" && !open[n]:
				t.Fatalf("%s ends nothing", l)
			case kind != "reply" && n != last+1:
				t.Fatalf("%s has the number after %d", l, last)
			case kind != "reply":
				last = n
			}
			open[n] = kind == "request"
		}
	})
}

func BenchmarkDelivery(b *testing.B) {
	c := New()
	f := []byte(data("MSG orders.new 3 $JS.ACK.orders.kitchen.1.42.7.1700000000000000000.3", "", "payload"))
	for b.Loop() {
		n, _ := c.Split(frame.FromServer, f)
		_, _ = c.Read(frame.FromServer, f[:n])
	}
}
