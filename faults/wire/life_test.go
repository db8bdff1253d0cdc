package wire

import (
	"bytes"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
)

// TestConnectionsLeaveNothing opens and closes connections from both sides.
func TestConnectionsLeaveNothing(t *testing.T) {
	s := serve(t)
	tr := newTrial(t)
	addr := tr.link(relay0, s)
	stays := dial(t, addr)
	stays.send("select|id=7")
	stays.want("#7", "+")
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			c := dial(t, addr)
			c.ask("insert|rows=0")
			if i%2 == 0 {
				c.send("insert|silent")
			}
			c.c.Close()
		})
	}
	wg.Wait()
	tr.until("the end of the connections", func() bool { return tr.State(relay0).Readable == 1 && tr.InFlight("relay") == 0 })
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
	if got := tr.Backends()[faults.Postgres]; len(got) != 1 || got[0] != 7 {
		t.Errorf("backends %v, want 7", got)
	}
	if n := strings.Count(strings.Join(tr.lines(), "\n"), "close"); n != 50 {
		t.Errorf("%d closes observed, want 50", n)
	}
}

// TestCloseWhileHeld closes the board in the middle of everything.
func TestCloseWhileHeld(t *testing.T) {
	s := serve(t)
	until := point(t, `relay.0/postgres "never" #1 after`)
	tr := newTrial(t,
		faults.Fault{Do: faults.Hold, At: point(t, `relay.0/postgres "hold" #1 before`), Until: until},
		faults.Fault{Do: faults.Hang, At: point(t, `relay.1/postgres "hang" #1 unanswered`)},
		faults.Fault{Do: faults.Kill, At: point(t, `app.0/postgres "kill" #1 before`), Drop: drops(t, `app.0/postgres "drop" #1 before`)},
		faults.Fault{Do: faults.Kill, At: point(t, `consumer.0/postgres "linger" #1 before`)},
		faults.Fault{Do: faults.Cut, Clock: time.Hour, On: relay0})
	tr.Start()
	clients := map[string]*client{}
	for role, label := range map[string]string{"relay.0": "hold", "relay.1": "hang", "consumer.0": "linger"} {
		clients[label] = dial(t, tr.link(link0(role+"/postgres"), s))
		clients[label].send(label, "select")
	}
	app := tr.link(link0("app.0/postgres"), s)
	for _, label := range []string{"drop", "kill"} {
		clients[label] = dial(t, app)
		clients[label].send(label)
		tr.until("it held", func() bool { return strings.Contains(strings.Join(tr.lines(), "\n"), "held "+label+" #1") })
	}
	for range 4 {
		tr.wait()
	}
	tr.Sever(faults.Instance{Role: "consumer"}, true)
	clients["linger"].ended()
	tr.Close()
	for _, c := range clients {
		c.ended()
	}
	s.closed()
	record := strings.Join(tr.lines(), "\n")
	for _, label := range []string{"hold", "hang", "kill", "drop", "linger"} {
		if !strings.Contains(record, "dropped "+label+" #1") {
			t.Errorf("%s was not dropped", label)
		}
	}
	if _, err := tr.Link(broker, "127.0.0.1:1", nil); err == nil {
		t.Error("a closed board took a link")
	}
}

// TestCloseWhileJammed: neither peer reads, and every buffer is full.
func TestCloseWhileJammed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tr := newTrial(t)
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
	var writes sync.WaitGroup
	jam := func(conn net.Conn, text string) {
		p := bytes.Repeat(pack(text+strings.Repeat("x", 100_000)), 10)
		for {
			if _, err := conn.Write(p); err != nil {
				return
			}
		}
	}
	writes.Go(func() { jam(c.c, "!message") })
	writes.Go(func() { jam(server, ">push") })
	full := func() bool {
		tr.Board.mu.Lock()
		defer tr.Board.mu.Unlock()
		for c := range tr.links[relay0].conns {
			return c.up.full() && c.down.full()
		}
		return false
	}
	for end := time.Now().Add(patience); !full(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the buffers do not fill")
		}
	}
	tr.Close()
	writes.Wait()
}

// TestNoServer: a server that is away closes the client, as toxiproxy does.
func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := l.Addr().String()
	l.Close()
	tr := newTrial(t)
	addr, err := tr.Link(relay0, away, newSimple)
	if err != nil {
		t.Fatal(err)
	}
	dial(t, addr).ended()
	tr.wantRecord()
}

// TestLinkRefuses what has no proxy to be made.
func TestLinkRefuses(t *testing.T) {
	b := New(Options{})
	defer b.Close()
	if _, err := b.Link(relay0, "127.0.0.1:1", nil); err != nil {
		t.Fatal(err)
	}
	any := relay0
	any.Index = faults.Any
	for _, l := range []faults.Link{relay0, any, {Instance: relay0.Instance}} {
		if _, err := b.Link(l, "127.0.0.1:1", nil); err == nil {
			t.Errorf("took %s", l)
		}
	}
}
