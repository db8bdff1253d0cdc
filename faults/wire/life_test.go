package wire

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

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

// TestClientDiesJammed: a client that reads nothing any more, while the server
// has filled every buffer, takes its connection with it.
func TestClientDiesJammed(t *testing.T) {
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
	writes.Go(func() { jam(server, ">push") })
	tr.jammed(func(c *conn) bool { return c.down.full() })
	c.c.Close()
	writes.Wait()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		tr.Board.mu.Lock()
		n := len(tr.links[relay0].conns)
		tr.Board.mu.Unlock()
		if n == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the connection is still there")
		}
	}
}

// jam writes frames until the connection breaks.
func jam(conn net.Conn, text string) {
	p := bytes.Repeat(pack(text+strings.Repeat("x", 100_000)), 10)
	for {
		if _, err := conn.Write(p); err != nil {
			return
		}
	}
}

// jammed waits until the one connection has its buffers full.
func (tr *trial) jammed(full func(*conn) bool) {
	tr.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		yes := false
		tr.Board.mu.Lock()
		for c := range tr.links[relay0].conns {
			yes = full(c)
		}
		tr.Board.mu.Unlock()
		if yes {
			return
		}
	}
	tr.t.Fatal("the buffers do not fill")
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
	writes.Go(func() { jam(c.c, "!message") })
	writes.Go(func() { jam(server, ">push") })
	tr.jammed(func(c *conn) bool { return c.up.full() && c.down.full() })
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

// TestDeliveryIsFlushed: behind bytes with a fault after them comes an empty
// chunk, and when toxiproxy's writer takes it the bytes have been written.
func TestDeliveryIsFlushed(t *testing.T) {
	sent := make(chan *stream.StreamChunk)
	var written bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(&onlyWriter{&written}, stream.NewChanReader(sent)) })
	want := bytes.Repeat([]byte("x"), 3*chunkSize+1)
	d := delivery{bytes: want, fires: []*armed{new(armed)}}
	var last *stream.StreamChunk
	for last = d.next(); ; last = d.next() {
		sent <- last
		if d.chunk = nil; len(last.Data) == 0 {
			break
		}
	}
	// The writer has taken the empty chunk, so it is behind its last Write.
	if !bytes.Equal(written.Bytes(), want) {
		t.Errorf("%d of %d bytes were written", written.Len(), len(want))
	}
	if d.next() != nil {
		t.Error("something comes behind the empty chunk")
	}
	close(sent)
	wg.Wait()
}

type onlyWriter struct{ io.Writer }
