package wire

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
)

func drops(t *testing.T, texts ...string) (ps []faults.Point) {
	for _, text := range texts {
		ps = append(ps, *point(t, text))
	}
	return ps
}

// TestDrop: a one-way message on another connection is kept back when it comes
// by, and never arrives when the fault fires.
func TestDrop(t *testing.T) {
	for _, do := range []faults.Kind{faults.Kill, faults.Cut} {
		t.Run(string(do), func(t *testing.T) {
			pg, nats := serve(t), serve(t)
			tr := newTrial(t, faults.Fault{
				Do: do, At: point(t, `relay.0/postgres "commit" #1 unanswered`),
				Drop: drops(t, `relay.0/broker "ack" #2 before`),
			})
			p := dial(t, tr.link(broker, nats))
			c, other := dial(t, tr.link(relay0, pg)), dial(t, tr.links[broker].proxy.Listen)
			p.send("!ack", "!ack", "publish")
			tr.until("the message held", func() bool { return tr.State(broker).Held == 1 })
			nats.until("the first message", func() bool { return len(nats.got) == 1 })
			c.ask("begin", "insert") // the instance's other connections go on
			other.ask("publish")
			c.send("commit")
			tr.wait()
			if do == faults.Kill {
				tr.Sever(relay0.Instance, false)
			}
			c.ended()
			p.ended()
			other.c.Close()
			if got := nats.closed(); !slices.Equal(got, []string{"!ack", "publish"}) {
				t.Errorf("the broker got %q", got)
			}
			if !strings.Contains(strings.Join(tr.lines(), "\n"), " dropped ack #2") {
				t.Errorf("the drop was not told:\n%s", strings.Join(tr.lines(), "\n"))
			}
		})
	}
}

// TestDropElsewhere: of interchangeable replicas only the struck one loses its
// message, and a fault that never fires loses none.
func TestDropElsewhere(t *testing.T) {
	pg, nats := serve(t), serve(t)
	tr := newTrial(t,
		faults.Fault{
			Do: faults.Kill, At: point(t, `relay.*/postgres "commit" #1 before`),
			Drop: drops(t, `relay.*/broker "ack" #1 before`),
		},
		faults.Fault{
			Do: faults.Kill, At: point(t, `relay.0/postgres "never" #1 before`),
			Drop: drops(t, `relay.0/broker "other" #1 before`),
		})
	p := dial(t, tr.link(broker, nats))
	c := dial(t, tr.link(relay1, pg))
	p.send("!ack", "publish")
	tr.until("the message held", func() bool { return tr.State(broker).Held == 1 })
	c.ask("begin", "insert")
	c.send("commit")
	tr.wait()
	p.want("+")
	tr.Sever(relay1.Instance, false)
	p.send("!other", "publish")
	tr.until("the message held", func() bool { return tr.State(broker).Held == 1 })
	tr.Heal(1)
	p.want("+")
	if got := nats.texts(); !slices.Equal(got, []string{"!ack", "publish", "!other", "publish"}) {
		t.Errorf("the broker got %q", got)
	}
	if st := tr.Faults()[1]; st.State != StateDisarmed {
		t.Errorf("state %s, want disarmed", st.State)
	}
}

// TestHold makes the first commit arrive second.
func TestHold(t *testing.T) {
	s := serve(t)
	hold := faults.Fault{
		Do: faults.Hold, At: point(t, `relay.0/postgres "commit" #1 before`),
		Until: point(t, `relay.0/postgres "commit" #2 after`),
	}
	tr := newTrial(t, hold)
	addr := tr.link(relay0, s)
	a, b := dial(t, addr), dial(t, addr)
	a.ask("begin", "insert a")
	b.ask("begin", "insert b")
	a.send("commit|a", "select")
	tr.wait()
	if n := tr.State(relay0).Held; n != 1 {
		t.Errorf("%d held, want the commit", n)
	}
	b.ask("commit|b")
	a.want("+", "+")
	got := s.texts()
	if want := []string{"commit|b", "commit|a", "select"}; !slices.Equal(got[len(got)-3:], want) {
		t.Errorf("the server got %q, want %q at the end", got, want)
	}
	lines := tr.lines()
	from := slices.Index(lines, "relay.0/postgres 1 held commit #1")
	want := []string{
		"relay.0/postgres 1 held commit #1", "fired 0",
		"relay.0/postgres 2 request commit #2", "relay.0/postgres 2 reply commit #2", "released 0",
		"relay.0/postgres 1 released commit #1", "relay.0/postgres 1 request commit #1",
	}
	if !slices.Equal(lines[from:from+len(want)], want) {
		t.Errorf("the record goes on with\n%s", strings.Join(lines[from:], "\n"))
	}
	if st := tr.Faults()[0]; st.State != StateReleased {
		t.Errorf("state %s, want released", st.State)
	}
}

// TestHoldHealed: a hold whose until never comes ends with Heal; one whose
// until has passed already keeps nothing.
func TestHoldHealed(t *testing.T) {
	s := serve(t)
	tr := newTrial(t,
		faults.Fault{Do: faults.Hold, At: point(t, `relay.0/postgres "commit" #1 before`), Until: point(t, `relay.0/postgres "never" #1 after`)},
		faults.Fault{Do: faults.Hold, At: point(t, `relay.0/postgres "late" #1 before`), Until: point(t, `relay.0/postgres "early" #1 before`)})
	addr := tr.link(relay0, s)
	a := dial(t, addr)
	a.ask("insert")
	a.send("commit")
	tr.wait()
	dial(t, addr).ask("insert")
	tr.Heal(0)
	a.want("+")
	a.ask("early", "late")
	if st := tr.Faults(); st[0].State != StateHealed || st[1].State != StateReleased {
		t.Errorf("states %s and %s, want healed and released", st[0].State, st[1].State)
	}
}

// TestHeldAndTheServerGoes: what can no longer arrive is dropped, not sent into
// the void.
func TestHeldAndTheServerGoes(t *testing.T) {
	s := serve(t)
	tr := newTrial(t, faults.Fault{Do: faults.Hold, At: point(t, `relay.0/postgres "commit" #1 before`), Until: point(t, `relay.0/postgres "never" #1 after`)})
	a := dial(t, tr.link(relay0, s))
	a.ask("insert")
	a.send("commit")
	tr.wait()
	s.mu.Lock()
	s.all[0].Close()
	s.mu.Unlock()
	a.ended()
	tr.until("the end", func() bool { return slices.Contains(tr.lines(), "relay.0/postgres 1 dropped commit #1") })
	tr.Heal(0)
}

// TestHeldAndTheClientGoes: what a client sent before it left still arrives.
func TestHeldAndTheClientGoes(t *testing.T) {
	s := serve(t)
	tr := newTrial(t, faults.Fault{Do: faults.Hold, At: point(t, `relay.0/postgres "commit" #1 before`), Until: point(t, `relay.0/postgres "never" #1 after`)})
	a := dial(t, tr.link(relay0, s))
	a.ask("insert")
	a.send("commit")
	tr.wait()
	a.c.Close()
	tr.left(relay0)
	tr.Heal(0)
	if got := s.closed(); !slices.Equal(got, []string{"insert", "commit"}) {
		t.Errorf("the server got %q", got)
	}
}

// TestLinger: the server believes in a killed client until it is told, and what
// it says in the meantime is observed and dropped.
func TestLinger(t *testing.T) {
	s := serve(t)
	tr := newTrial(t, faults.Fault{
		Do: faults.Kill, At: point(t, `relay.0/postgres "insert" #1 before`),
		Then: faults.Then{Restart: faults.BackendsLinger},
	})
	addr := tr.link(relay0, s)
	c := dial(t, addr)
	c.ask("select")
	quiet := dial(t, addr)
	quiet.send("update|silent")
	s.until("the update", func() bool { return slices.Contains(s.got, "update|silent") })
	c.send("insert")
	tr.wait()
	c.c.Close() // the process dies: its sockets close before Sever
	quiet.c.Close()
	tr.left(relay0)
	tr.Sever(relay0.Instance, true)
	again := dial(t, addr)
	again.ask("select")
	s.mu.Lock()
	open := s.open
	s.all[1].Write(pack("+")) // the backend commits late
	s.mu.Unlock()
	if open != 3 {
		t.Errorf("the server has %d connections, want 3", open)
	}
	if n := tr.InFlight("relay"); n != 0 {
		t.Errorf("%d in flight by the living", n)
	}
	tr.until("the late reply", func() bool { return slices.Contains(tr.lines(), "relay.0/postgres 2 dropped update #1") })
	tr.CloseLingering(relay0.Instance)
	s.until("the end of the lingering", func() bool { return s.open == 1 })
	again.ask("select")
	again.c.Close()
	if got := s.closed(); slices.Contains(got, "insert") {
		t.Errorf("the server got %q", got)
	}
}

// TestClock fires each fault at a time.
func TestClock(t *testing.T) {
	s := serve(t)
	tr := newTrial(t,
		faults.Fault{Do: faults.Cut, On: relay0},
		faults.Fault{Do: faults.Hang, On: relay1},
		faults.Fault{Do: faults.Kill, On: faults.Link{Instance: broker.Instance}})
	c, d := dial(t, tr.link(relay0, s)), dial(t, tr.link(relay1, s))
	c.ask("select")
	d.ask("select")
	tr.Start()
	tr.Start()
	for range 3 {
		tr.wait()
	}
	c.ended()
	if !tr.State(relay0).Frozen || !tr.State(relay1).Frozen {
		t.Error("the killed instance and the hung link are not frozen")
	}
	d.send("select")
	tr.kept(relay1, len(pack("select")))
	tr.Heal(1)
	d.want("+")
	tr.Sever(relay0.Instance, false)
	dial(t, tr.links[relay0].proxy.Listen).ask("select")
}

// TestHoldNext keeps back a request that no fault names.
func TestHoldNext(t *testing.T) {
	s := serve(t)
	tr := newTrial(t)
	addr := tr.link(relay0, s)
	a, b := dial(t, addr), dial(t, addr)
	a.ask("begin", "insert", "commit")
	h := tr.HoldNext(relay0, "commit")
	a.ask("begin", "insert")
	a.send("commit|held")
	select {
	case <-h.Held():
	case <-time.After(patience):
		t.Fatal("the commit was not held")
	}
	b.ask("begin", "insert", "commit|free")
	h.Release()
	h.Release()
	a.want("+")
	if got := s.texts(); !slices.Equal(got[len(got)-2:], []string{"commit|free", "commit|held"}) {
		t.Errorf("the server got %q", got)
	}
	none := tr.HoldNext(relay0, "commit")
	none.Release()
	a.ask("begin", "insert", "commit")
	if len(tr.Faults()) != 0 || len(tr.fired) != 0 {
		t.Errorf("it is reported as a fault: %+v", tr.Faults())
	}
}
