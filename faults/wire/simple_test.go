package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// patience bounds every wait of these tests. It decides no result: a test that
// runs into it fails.
const patience = 20 * time.Second

// The simple protocol. A frame is seven digits, a colon and as many bytes of
// text. A client's text is a request, labelled by what stands before "|", or,
// with "!", a one-way message. A server's text is a reply ("+", or "=" when the
// request touched nothing), a part of the oldest open answer ("-"), a message
// of its own (">label") or its id of the connection ("#id").
const simpleHead = 8

func pack(text string) []byte { return fmt.Appendf(nil, "%07d:%s", len(text), text) }

type simple struct {
	asked  []frame.Event
	last   uint64
	worked bool
	part   [1]frame.Event // good until the next Read, as a codec may have it
}

func newSimple() frame.Conversation { return new(simple) }

func (s *simple) Split(_ frame.Direction, p []byte) (int, error) {
	if len(p) < simpleHead {
		if len(p) > 0 && (p[0] < '0' || p[0] > '9') {
			return 0, errors.New("not a digit")
		}
		return 0, nil
	}
	n, err := strconv.Atoi(string(p[:simpleHead-1]))
	if err != nil || p[simpleHead-1] != ':' {
		return 0, errors.New("not a frame")
	}
	return simpleHead + n, nil
}

func (s *simple) Read(dir frame.Direction, f []byte) ([]frame.Event, error) {
	text := string(f[simpleHead:min(len(f), simpleHead+80)])
	if text == "" || text[0] == '?' {
		s.part[0] = frame.Event{}
		return s.part[:], nil
	}
	label, _, _ := strings.Cut(text, "|")
	if dir == frame.FromClient {
		s.last++
		if text[0] == '!' {
			return []frame.Event{{Kind: frame.OneWay, Exchange: s.last, Label: label[1:]}}, nil
		}
		e := frame.Event{Kind: frame.Request, Exchange: s.last, Label: label}
		switch label {
		case "begin":
			e.Begin, s.worked = true, false
		case "commit", "rollback":
			e.End, e.Idle = true, !s.worked
		}
		s.asked = append(s.asked, e)
		return []frame.Event{e}, nil
	}
	switch text[0] {
	case '#':
		id, err := strconv.ParseUint(text[1:], 10, 64)
		return []frame.Event{{Backend: id}}, err
	case '>':
		return []frame.Event{{Kind: frame.Push, Label: label[1:]}}, nil
	}
	if len(s.asked) == 0 {
		return nil, errors.New("an answer to nothing")
	}
	e := s.asked[0]
	if text[0] == '-' {
		s.part[0] = frame.Event{Exchange: e.Exchange}
		return s.part[:], nil
	}
	s.asked = s.asked[1:]
	idle := text[0] == '='
	if !e.Begin && !e.End && !idle {
		s.worked = true
	}
	return []frame.Event{{Kind: frame.Reply, Exchange: e.Exchange, Label: e.Label, Idle: idle}}, nil
}

// server speaks the simple protocol: it answers "+", after "|rows=n" with n
// parts first, after "|notices=n" with n parts and a notice ("?") behind each, after "|idle" "=", after
// "|push=x" with a message first; after "|silent" and one-way messages it says nothing.
type server struct {
	t        *testing.T
	listener net.Listener
	done     sync.WaitGroup

	mu   sync.Mutex
	got  []string // texts, in order
	open int      // connections
	all  []net.Conn
	news chan struct{}
}

func serve(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, listener: l, news: make(chan struct{})}
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.change(func() { s.open++; s.all = append(s.all, c) })
			s.done.Add(1)
			go func() {
				defer s.done.Done()
				defer c.Close()
				s.talk(c)
				s.change(func() { s.open-- })
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, c := range s.all {
			c.Close()
		}
		s.mu.Unlock()
		s.done.Wait()
	})
	return s
}

func (s *server) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	close(s.news)
	s.news = make(chan struct{})
}

func (s *server) talk(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		text, err := receive(r)
		if err != nil {
			return
		}
		s.change(func() { s.got = append(s.got, text) })
		if strings.HasPrefix(text, "!") {
			continue
		}
		var answer []byte
		reply := "+"
		for _, option := range strings.Split(text, "|")[1:] {
			key, value, _ := strings.Cut(option, "=")
			switch key {
			case "rows":
				n, _ := strconv.Atoi(value)
				for range n {
					answer = append(answer, pack("-row")...)
				}
			case "notices":
				n, _ := strconv.Atoi(value)
				for range n {
					answer = append(answer, pack("-row")...)
					answer = append(answer, pack("?notice")...)
				}
			case "idle":
				reply = "="
			case "push":
				answer = append(answer, pack(">"+value)...)
			case "id":
				answer = append(answer, pack("#"+value)...)
			case "silent":
				reply = ""
			}
		}
		if reply != "" {
			answer = append(answer, pack(reply)...)
		}
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

// until waits for the server's state.
func (s *server) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		news, done := s.news, ok()
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
		case <-deadline:
			s.t.Fatalf("the server never saw: %s", what)
		}
	}
}

// closed waits until no client is connected: what it got is then all.
func (s *server) closed() []string {
	s.t.Helper()
	s.until("the end of all connections", func() bool { return s.open == 0 })
	return s.texts()
}

func (s *server) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

func receive(r io.Reader) (string, error) {
	head := make([]byte, simpleHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", err
	}
	n, err := strconv.Atoi(string(head[:simpleHead-1]))
	if err != nil {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return string(text), err
}

// client is the process under test.
type client struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return &client{t: t, c: c, r: bufio.NewReader(c)}
}

func (c *client) send(texts ...string) {
	c.t.Helper()
	var all []byte
	for _, text := range texts {
		all = append(all, pack(text)...)
	}
	if _, err := c.c.Write(all); err != nil {
		c.t.Fatalf("send %q: %v", texts, err)
	}
}

func (c *client) want(texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		got, err := receive(c.r)
		if err != nil || got != text {
			c.t.Fatalf("got %q, %v; want %q", got, err, text)
		}
	}
}

func (c *client) ask(texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		c.send(text)
		want := "+"
		if strings.HasSuffix(text, "|idle") {
			want = "="
		}
		c.want(want)
	}
}

// ended wants the end of the connection and nothing before it.
func (c *client) ended() {
	c.t.Helper()
	rest, err := io.ReadAll(c.r)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatal("the connection was not closed")
	}
	if len(rest) > 0 {
		c.t.Fatalf("got %q; want the end", bytes.TrimSpace(rest))
	}
}

// trial is a board with a record of what it tells.
type trial struct {
	*Board
	t     *testing.T
	fired chan Firing

	mu     sync.Mutex
	record []string
}

var (
	relay0 = link0("relay.0/postgres")
	broker = link0("relay.0/broker")
	relay1 = link0("relay.1/postgres")
)

func link0(text string) faults.Link {
	l, err := faults.ParseLink(text)
	if err != nil {
		panic(err)
	}
	return l
}

func point(t *testing.T, text string) *faults.Point {
	t.Helper()
	p, err := faults.ParsePoint(text)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func newTrial(t *testing.T, fs ...faults.Fault) *trial {
	t.Helper()
	tr := &trial{t: t, fired: make(chan Firing, 16)}
	tr.Board = New(Options{
		Observe: func(o Observation) {
			line := fmt.Sprintf("%s %d %s", o.Link, o.Conn, o.What)
			if o.Label != "" {
				line += fmt.Sprintf(" %s #%d", o.Label, o.N)
			}
			tr.write(line)
		},
		Fired: func(f Firing) {
			tr.write(fmt.Sprintf("fired %d", f.Index))
			tr.fired <- f
		},
		Released: func(f Firing) { tr.write(fmt.Sprintf("released %d", f.Index)) },
	})
	t.Cleanup(func() { tr.Close() })
	if err := tr.Arm(fs); err != nil {
		t.Fatal(err)
	}
	return tr
}

func (tr *trial) write(line string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.record = append(tr.record, line)
}

func (tr *trial) lines() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return append([]string(nil), tr.record...)
}

func (tr *trial) link(l faults.Link, s *server) string {
	tr.t.Helper()
	addr, err := tr.Link(l, s.listener.Addr().String(), newSimple)
	if err != nil {
		tr.t.Fatal(err)
	}
	return addr
}

func (tr *trial) wait() Firing {
	tr.t.Helper()
	select {
	case f := <-tr.fired:
		return f
	case <-time.After(patience):
		tr.t.Fatalf("no fault fired: %+v\n%s", tr.Faults(), strings.Join(tr.lines(), "\n"))
		return Firing{}
	}
}

// until waits for the board's state.
func (tr *trial) until(what string, ok func() bool) {
	tr.t.Helper()
	deadline := time.After(patience)
	for {
		changed := tr.Changed()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			tr.t.Fatalf("never: %s\n%s", what, strings.Join(tr.lines(), "\n"))
		}
	}
}

// kept waits until n bytes of a link are at the proxy and may not pass.
func (tr *trial) kept(l faults.Link, n int) {
	tr.t.Helper()
	var got int
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		got = 0
		tr.Board.mu.Lock()
		for c := range tr.links[l].conns {
			got += len(c.up.pending) + len(c.down.pending)
		}
		tr.Board.mu.Unlock()
		if got == n {
			return
		}
	}
	tr.t.Fatalf("%d bytes are kept on %s, want %d", got, l, n)
}

// left waits until the board knows that every client of a link has gone.
func (tr *trial) left(l faults.Link) {
	tr.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		there := 0
		tr.Board.mu.Lock()
		for c := range tr.links[l].conns {
			if !c.up.eof {
				there++
			}
		}
		tr.Board.mu.Unlock()
		if there == 0 {
			return
		}
	}
	tr.t.Fatal("the end of the clients was not seen")
}

func (tr *trial) wantRecord(want ...string) {
	tr.t.Helper()
	got := tr.lines()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		tr.t.Fatalf("the record is\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
