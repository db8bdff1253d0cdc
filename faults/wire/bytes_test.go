package wire

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// frames makes frames of one direction that the simple protocol reads, and cuts
// them at random places.
func frames(r *rand.Rand, prefix string, broken bool) (all []byte, cuts [][]byte) {
	for range 60 {
		n := r.IntN(2000)
		if r.IntN(20) == 0 {
			n = r.IntN(200_000)
		}
		if r.IntN(60) == 0 {
			n = frame.MaxRead + r.IntN(100_000)
		}
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		all = append(all, pack(prefix+string(text))...)
	}
	if broken {
		at := r.IntN(len(all))
		all = append(all[:at:at], append([]byte("this is no frame"), all[at:]...)...)
	}
	for rest := all; len(rest) > 0; {
		n := 1 + r.IntN(len(rest))
		switch r.IntN(3) {
		case 0:
			n = min(n, 1+r.IntN(20))
		case 1:
			n = min(n, 1+r.IntN(70_000))
		}
		cuts, rest = append(cuts, rest[:n]), rest[n:]
	}
	return all, cuts
}

// TestBytes: both directions arrive as they were sent, at the same time,
// whether they can be read or not.
func TestBytes(t *testing.T) {
	for seed := range uint64(6) {
		broken := seed%3 == 1
		unread := seed%3 == 2
		t.Run(fmt.Sprintf("seed %d broken %v unread %v", seed, broken, unread), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			up, upCuts := frames(r, "!message", broken && seed%2 == 0)
			down, downCuts := frames(r, ">push", broken && seed%2 == 1)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var opaque int
			b := New(Options{Observe: func(o Observation) {
				if o.What == Opaque {
					opaque++
				}
			}})
			defer b.Close()
			protocol := Protocol(newSimple)
			if unread {
				protocol = nil
			}
			addr, err := b.Link(relay0, l.Addr().String(), protocol)
			if err != nil {
				t.Fatal(err)
			}
			client, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			var wg sync.WaitGroup
			send := func(c net.Conn, cuts [][]byte) {
				for _, p := range cuts {
					if _, err := c.Write(p); err != nil {
						t.Error(err)
					}
				}
			}
			check := func(c net.Conn, want []byte) {
				got := make([]byte, len(want))
				c.SetReadDeadline(time.Now().Add(patience))
				if n, err := io.ReadFull(c, got); err != nil {
					t.Errorf("got %d of %d bytes: %v", n, len(want), err)
				} else if !bytes.Equal(got, want) {
					t.Error("the bytes have changed")
				}
			}
			wg.Go(func() { send(client, upCuts) })
			wg.Go(func() { send(server, downCuts) })
			wg.Go(func() { check(server, up) })
			wg.Go(func() { check(client, down) })
			wg.Wait()
			client.Close()
			if rest, err := io.ReadAll(server); len(rest) > 0 || err != nil {
				t.Errorf("then %d bytes more, %v", len(rest), err)
			}
			st := b.State(relay0)
			b.Close()
			if broken != (opaque == 1) || opaque != st.EverOpaque {
				t.Errorf("%d opaque observations and %d counted, broken %v", opaque, st.EverOpaque, broken)
			}
		})
	}
}

// TestPartialFrameAtTheEnd: what is left when a sender ends passes, whole or not.
func TestPartialFrameAtTheEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, fromClient := range []bool{true, false} {
		tr := newTrial(t)
		addr, err := tr.Link(relay0, l.Addr().String(), newSimple)
		if err != nil {
			t.Fatal(err)
		}
		client := dial(t, addr).c
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		from, to := client, server
		if !fromClient {
			from, to = server, client
		}
		want := append(pack("!one"), "0000009:!two"...)
		from.Write(want)
		from.Close()
		if got, _ := io.ReadAll(to); !bytes.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLongFrames: a frame longer than a codec may see is streamed without its
// last byte, and an answer with such a frame in it is withheld whole.
func TestLongFrames(t *testing.T) {
	long := strings.Repeat("x", 3*frame.MaxRead)
	t.Run("before", func(t *testing.T) {
		s := serve(t)
		tr := newTrial(t, faults.Fault{Do: faults.Kill, At: point(t, `relay.0/postgres "insert" #1 before`)})
		c := dial(t, tr.link(relay0, s))
		c.ask("select")
		go c.c.Write(pack("insert|" + long))
		tr.wait()
		tr.Sever(relay0.Instance, false)
		c.ended()
		if got := s.closed(); len(got) != 1 {
			t.Errorf("the server got %d texts", len(got))
		}
	})
	t.Run("without its last byte", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		tr := newTrial(t, faults.Fault{Do: faults.Kill, At: point(t, `relay.0/postgres "insert" #1 before`)})
		addr, err := tr.Link(relay0, l.Addr().String(), newSimple)
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, addr)
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		server.SetDeadline(time.Now().Add(patience))
		p := pack("insert|" + long)
		go c.c.Write(p[:len(p)-1])
		if _, err := io.ReadFull(server, make([]byte, len(p)-1)); err != nil {
			t.Fatal(err)
		}
		if len(tr.fired) > 0 || tr.State(relay0).InFlight > 0 {
			t.Error("half a request counts as one")
		}
		c.c.Write(p[len(p)-1:])
		tr.wait()
		tr.Sever(relay0.Instance, false)
		if rest, _ := io.ReadAll(server); len(rest) > 0 {
			t.Errorf("%d bytes more", len(rest))
		}
	})
	t.Run("released", func(t *testing.T) {
		s := serve(t)
		tr := newTrial(t, faults.Fault{Do: faults.Hang, At: point(t, `relay.0/postgres "insert" #1 before`)})
		c := dial(t, tr.link(relay0, s))
		go c.c.Write(append(pack("insert|"+long), pack("select")...))
		tr.wait()
		tr.Heal(0)
		c.want("+", "+")
		if got := s.texts(); !slices.Equal(got, []string{"insert|" + long, "select"}) {
			t.Errorf("the server got %d texts", len(got))
		}
	})
	for _, do := range []faults.Kind{faults.Kill, faults.Hang} {
		t.Run("unanswered "+string(do), func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			tr := newTrial(t, faults.Fault{Do: do, At: point(t, `relay.0/postgres "select" #1 unanswered`)})
			addr, err := tr.Link(relay0, l.Addr().String(), newSimple)
			if err != nil {
				t.Fatal(err)
			}
			c := dial(t, addr)
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			c.send("select")
			if text, err := receive(server); text != "select" || err != nil {
				t.Fatal(text, err)
			}
			var writes sync.WaitGroup
			defer writes.Wait()
			writes.Go(func() {
				server.Write(append(pack("-"+long), append(pack("-"+long), pack("+")...)...))
			})
			tr.wait()
			if do == faults.Kill {
				tr.Sever(relay0.Instance, false)
				c.ended()
				return
			}
			tr.Heal(0)
			c.want("-"+long, "-"+long, "+")
		})
	}
}
