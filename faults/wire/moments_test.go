package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
)

// TestMoments does every fault at every moment of a request.
func TestMoments(t *testing.T) {
	const (
		insert = "insert|rows=2"
		start  = "relay.0/postgres 1 "
	)
	for _, do := range []faults.Kind{faults.Kill, faults.Cut, faults.Hang} {
		for _, moment := range []faults.Moment{faults.Before, faults.Unanswered, faults.After} {
			t.Run(string(do)+" "+string(moment), func(t *testing.T) {
				s := serve(t)
				tr := newTrial(t, faults.Fault{Do: do, At: point(t, `relay.0/postgres "insert" #1 `+string(moment))})
				addr := tr.link(relay0, s)
				c := dial(t, addr)
				c.ask("select")
				c.send(insert)
				f := tr.wait()
				if f.Instance != relay0.Instance || f.Link != relay0 || f.Label != "insert" || f.N != 1 || f.Conn != 1 {
					t.Fatalf("fired %+v", f)
				}
				if moment == faults.After {
					c.want("-row", "-row", "+")
				}
				served := []string{"select"}
				if moment != faults.Before {
					served = append(served, insert)
				}
				want := []string{start + "open", start + "request select #1", start + "reply select #1"}
				kept := start + "held insert #1"
				switch moment {
				case faults.Before:
					want = append(want, kept, "fired 0")
				case faults.Unanswered:
					kept = start + "answered insert #1"
					want = append(want, start+"request insert #1", kept, "fired 0")
				case faults.After:
					want = append(want, start+"request insert #1", start+"reply insert #1", "fired 0")
				}
				switch do {
				case faults.Kill, faults.Cut:
					if do == faults.Kill {
						if !tr.State(relay0).Frozen {
							t.Error("the link is not frozen between the firing and Sever")
						}
						c.send("too late")
						tr.Sever(relay0.Instance, false)
					}
					c.ended()
					if got := s.closed(); !slices.Equal(got, served) {
						t.Errorf("the server got %q, want %q", got, served)
					}
					if moment != faults.After {
						want = append(want, strings.Replace(strings.Replace(kept, "held", "dropped", 1), "answered", "dropped", 1))
					}
					want = append(want, start+"close")
					tr.wantRecord(want...)
					dial(t, addr).ask("select")
				case faults.Hang:
					c2 := dial(t, addr)
					c2.send("select")
					kept := len(pack("select"))
					switch moment {
					case faults.Before:
						kept += len(pack(insert))
					case faults.Unanswered:
						kept += 2*len(pack("-row")) + len(pack("+"))
					}
					tr.kept(relay0, kept)
					if got := s.texts(); !slices.Equal(got, served) {
						t.Errorf("the server got %q, want %q", got, served)
					}
					want = append(want, "relay.0/postgres 2 open")
					tr.wantRecord(want...)
					tr.Heal(0)
					if moment != faults.After {
						c.want("-row", "-row", "+")
					}
					c.ask("commit")
					c2.want("+")
				}
				if st := tr.Faults()[0]; !st.Fired() || st.Why != "" {
					t.Errorf("status %+v", st)
				}
			})
		}
	}
}

// TestKillFreezesTheInstance: what the killed process sends on its other links,
// before it is dead, passes no more; another instance goes on.
func TestKillFreezesTheInstance(t *testing.T) {
	pg, nats := serve(t), serve(t)
	tr := newTrial(t, faults.Fault{Do: faults.Kill, At: point(t, `relay.0/postgres "insert" #1 unanswered`)})
	a, b := tr.link(relay0, pg), tr.link(broker, nats)
	other := dial(t, tr.link(relay1, pg))
	c, p := dial(t, a), dial(t, b)
	p.ask("publish")
	c.send("insert")
	tr.wait()
	p.send("publish")
	late := dial(t, b)
	late.send("publish")
	tr.kept(broker, 2*len(pack("publish")))
	other.ask("insert")
	if tr.InFlight("relay") != 1 {
		t.Errorf("%d in flight, want the unanswered insert", tr.InFlight("relay"))
	}
	tr.Sever(relay0.Instance, false)
	c.ended()
	p.ended()
	late.ended()
	if got := nats.closed(); len(got) != 1 {
		t.Errorf("the broker got %q", got)
	}
	if tr.InFlight("relay") != 0 {
		t.Errorf("%d in flight after Sever", tr.InFlight("relay"))
	}
	dial(t, b).ask("publish")
}

// TestOtherTarget kills one instance at a point of another: nothing of the
// other is kept.
func TestOtherTarget(t *testing.T) {
	s := serve(t)
	tr := newTrial(t,
		faults.Fault{Do: faults.Kill, At: point(t, `relay.0/postgres "insert" #1 unanswered`), On: faults.Link{Instance: relay1.Instance}},
		faults.Fault{Do: faults.Cut, At: point(t, `relay.0/postgres "insert" #2 before`), On: relay1})
	c, d := dial(t, tr.link(relay0, s)), dial(t, tr.link(relay1, s))
	d.ask("select")
	c.ask("insert")
	if f := tr.wait(); f.Instance != relay1.Instance || f.Link != relay0 {
		t.Errorf("fired %+v", f)
	}
	tr.Sever(relay1.Instance, false)
	d.ended()
	e := dial(t, tr.links[relay1].proxy.Listen)
	e.ask("select")
	c.ask("insert", "commit")
	if f := tr.wait(); f.Instance != relay1.Instance || f.Link != relay1 {
		t.Errorf("fired %+v", f)
	}
	e.ended()
}

// TestOneWayAndPush does a kill at each moment of messages without a reply.
func TestOneWayAndPush(t *testing.T) {
	for _, test := range []struct {
		point  string
		served []string
		got    []string
	}{
		{`"ack" #2 before`, []string{"fetch|push=delivery", "!ack"}, []string{">delivery", "+"}},
		{`"ack" #2 after`, []string{"fetch|push=delivery", "!ack", "!ack"}, []string{">delivery", "+"}},
		{`"delivery" #1 before`, []string{"fetch|push=delivery"}, nil},
		{`"delivery" #1 after`, []string{"fetch|push=delivery"}, []string{">delivery"}},
	} {
		t.Run(test.point, func(t *testing.T) {
			s := serve(t)
			tr := newTrial(t, faults.Fault{Do: faults.Kill, At: point(t, `relay.0/broker `+test.point)})
			c := dial(t, tr.link(broker, s))
			c.send("fetch|push=delivery")
			c.want(test.got...)
			if len(test.got) == 2 {
				c.send("!ack", "!ack", "!ack")
			}
			tr.wait()
			if strings.HasSuffix(test.point, "after") {
				// What passed must be there before the connection ends.
				s.until("all that passed", func() bool { return len(s.got) == len(test.served) })
			}
			tr.Sever(relay0.Instance, false)
			c.ended()
			if got := s.closed(); !slices.Equal(got, test.served) {
				t.Errorf("the server got %q, want %q", got, test.served)
			}
		})
	}
}

// TestIdle: an idle relay's polls, however many, leave the numbers alone, and
// have points of their own.
func TestIdle(t *testing.T) {
	s := serve(t)
	tr := newTrial(t,
		faults.Fault{Do: faults.Hang, At: point(t, `relay.0/postgres "claim" #1 unanswered`)},
		faults.Fault{Do: faults.Hang, At: point(t, `relay.0/postgres "claim idle" #3 unanswered`)},
		faults.Fault{Do: faults.Hang, At: point(t, `relay.0/postgres "commit idle" #3 before`)},
		faults.Fault{Do: faults.Hang, At: point(t, `relay.0/postgres "begin" #2 before`)},
		faults.Fault{Do: faults.Hang, At: point(t, `relay.0/postgres "claim idle" #1 before`)})
	c := dial(t, tr.link(relay0, s))
	for range 2 {
		c.ask("begin", "claim|idle", "commit")
	}
	c.ask("begin")
	fires := func(index int, text, reply string) {
		t.Helper()
		c.send(text)
		if f := tr.wait(); f.Index != index {
			t.Fatalf("%s: fault %d fired, want %d", text, f.Index, index)
		}
		tr.Heal(index)
		c.want(reply)
	}
	fires(1, "claim|idle", "=")
	fires(2, "commit", "+")
	c.ask("begin")
	fires(0, "claim", "+")
	c.ask("commit")
	fires(3, "begin", "+")
	tr.Heal(4)
	if why := tr.Faults()[4].Why; !strings.Contains(why, "no moment before") {
		t.Errorf("why: %q", why)
	}
	if n := tr.State(relay0).Completed["claim idle"]; n != 3 {
		t.Errorf("%d idle claims, want 3", n)
	}
}

// TestReplicas: a point of relay.* is whichever replica gets there first.
func TestReplicas(t *testing.T) {
	s := serve(t)
	tr := newTrial(t, faults.Fault{Do: faults.Kill, At: point(t, `relay.*/postgres "insert" #3 before`)})
	c, d := dial(t, tr.link(relay0, s)), dial(t, tr.link(relay1, s))
	c.ask("claim|idle")
	d.ask("insert")
	c.ask("insert")
	d.send("insert")
	if f := tr.wait(); f.Instance != relay1.Instance || f.N != 2 {
		t.Fatalf("fired %+v", f)
	}
	c.ask("insert")
	tr.Sever(relay1.Instance, false)
	d.ended()
}

// TestWhy: what did not fire says what was seen instead.
func TestWhy(t *testing.T) {
	s := serve(t)
	tr := newTrial(t,
		faults.Fault{Do: faults.Kill, At: point(t, `relay.0/postgres "insert" #3 before`)},
		faults.Fault{Do: faults.Kill, At: point(t, `relay.0/postgres "update" #1 before`)},
		faults.Fault{Do: faults.Kill, At: point(t, `relay.7/postgres "update" #1 before`)},
		faults.Fault{Do: faults.Kill, At: point(t, `relay.0/postgres "silent" #1 unanswered`)},
		faults.Fault{Do: faults.Cut, Clock: 1e15, On: relay0},
		faults.Fault{Do: faults.Cut, At: point(t, `relay.0/postgres "insert" #1 before`), On: relay1})
	c := dial(t, tr.link(relay0, s))
	tr.Start()
	c.ask("insert", "insert")
	c.send("silent|silent")
	tr.until("the silent request", func() bool { return tr.State(relay0).InFlight == 1 })
	for i, want := range []string{
		`"insert" was seen 2 times on relay.0/postgres, and #3 never came`,
		`"update" was not seen on relay.0/postgres, where there were "insert" 2 times, "silent" 1 times`,
		`there is no link relay.7/postgres`,
		`"silent" #1 came on relay.0/postgres, and its moment unanswered did not`,
		`the clock did not come to 277h46m40s`,
		`there is no link relay.1/postgres`,
	} {
		if got := tr.Faults()[i]; got.Fired() || got.Why != want {
			t.Errorf("fault %d: %+v, want %q", i, got, want)
		}
	}
}

// TestWithheldAnswer: what belongs to no exchange waits behind an answer that
// is withheld, and keeps its place.
func TestWithheldAnswer(t *testing.T) {
	s := serve(t)
	tr := newTrial(t,
		faults.Fault{Do: faults.Hang, At: point(t, `relay.0/postgres "select" #2 unanswered`)},
		faults.Fault{Do: faults.Kill, At: point(t, `relay.0/postgres "select idle" #1 unanswered`)})
	c := dial(t, tr.link(relay0, s))
	c.send("select|notices=2", "select|notices=2") // the first may be idle, and turns out not to be
	tr.wait()
	c.want("-row", "?notice", "-row", "?notice", "+")
	tr.kept(relay0, 2*len(pack("-row"))+2*len(pack("?notice"))+len(pack("+")))
	tr.Heal(0)
	c.want("-row", "?notice", "-row", "?notice", "+")
	c.send("select|notices=1|idle")
	tr.wait()
	tr.Sever(relay0.Instance, false)
	c.ended()
}

// TestAfterElsewhere: a fault after one of many replies that came at once, on
// another instance: it fires all the same, and its own instance goes on.
func TestAfterElsewhere(t *testing.T) {
	s := serve(t)
	tr := newTrial(t, faults.Fault{
		Do: faults.Kill, At: point(t, `relay.0/postgres "insert" #1 after`), On: faults.Link{Instance: relay1.Instance},
	}, faults.Fault{Do: faults.Hang, At: point(t, `relay.0/postgres "select" #1 unanswered`)})
	c := dial(t, tr.link(relay0, s))
	c.send("select", "insert", "insert", "insert")
	s.until("all of it", func() bool { return len(s.got) == 4 })
	tr.wait()
	tr.kept(relay0, 4*len(pack("+"))) // the replies pass in one go
	tr.Heal(0 + 1)
	c.want("+", "+", "+", "+")
	if f := tr.wait(); f.Index != 0 {
		t.Errorf("fired %+v", f)
	}
	got := tr.lines()
	if n := slices.Index(got, "relay.0/postgres 1 reply insert #1"); n < 0 || got[n+1] != "fired 0" {
		t.Errorf("the record is\n%s", strings.Join(got, "\n"))
	}
}
