package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// TestNumbers runs little scripts on the numbering alone. A step is CONN WHAT:
// "a> select outbox" a request, "a< idle" its reply.
func TestNumbers(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{
			"one after the other",
			"a>insert a<ok a>insert a<ok b>insert b<ok",
			"insert#1 insert#1 insert#2 insert#2 insert#3 insert#3",
		},
		{
			"overlapping",
			"a>insert b>insert b<ok a<ok a>insert",
			"insert#1 insert#2 insert#2 insert#1 insert#3",
		},
		{
			"idle gives its number back",
			"a>claim a<idle a>claim a<idle a>claim a<ok a>claim a<idle",
			"claim#1 claim-idle#1 claim#1 claim-idle#2 claim#1 claim#1 claim#2 claim-idle#3",
		},
		{
			"idle while another is open leaves no number twice",
			"a>claim b>claim a<idle a>claim b<ok a<ok b>claim",
			"claim#1 claim#2 claim-idle#1 claim#1 claim#2 claim#1 claim#3",
		},
		{
			"never answered keeps its number",
			"a>insert b>insert",
			"insert#1 insert#2",
		},
		{
			"a begin counts when its transaction works",
			"a>begin a<ok a>claim a<idle a>idlecommit a<ok " +
				"a>begin a<ok a>claim a<ok a>commit a<ok a>begin",
			"begin#1 begin#1 claim#1 claim-idle#1 commit-idle#1 commit-idle#1 " +
				"begin#1 begin#1 claim#1 claim#1 commit#1 commit#1 begin#2",
		},
		{
			"a begin of a transaction that did not answer in time counts at its end",
			"a>begin a<ok a>commit a<ok a>begin",
			"begin#1 begin#1 commit#1 commit#1 begin#2",
		},
		{
			"open transactions on two connections",
			"a>begin a<ok b>begin b<ok a>insert a<ok b>insert b<ok a>begin",
			"begin#1 begin#1 begin#2 begin#2 insert#1 insert#1 insert#2 insert#2 begin#3",
		},
		{
			"a begin whose connection dies idle counts for nothing",
			"a>begin a<ok b>begin b<ok b>insert b<ok a!dies c>begin",
			"begin#1 begin#1 begin#2 begin#2 insert#1 insert#1 begin#1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			shared := tally{link: newScope(), role: newScope()}
			conns := map[byte]*numbering{}
			open := map[byte]*exchange{}
			var got []string
			for _, step := range strings.Fields(test.script) {
				who, text := step[0], step[2:]
				c := conns[who]
				if c == nil {
					c = &numbering{tally: shared}
					conns[who] = c
				}
				if text == "dies" {
					c.abandon()
					continue
				}
				if step[1] == '>' {
					e := frame.Event{Kind: frame.Request, Label: strings.TrimPrefix(text, "idle")}
					e.Begin, e.End, e.Idle = text == "begin", strings.HasSuffix(text, "commit"), text == "idlecommit"
					open[who] = c.request(e)
				} else {
					c.reply(open[who], frame.Event{Kind: frame.Reply, Idle: text == "idle"})
				}
				x := open[who]
				if x.n.link != x.n.role {
					t.Fatalf("%s: %d on the link, %d in the role", step, x.n.link, x.n.role)
				}
				got = append(got, fmt.Sprintf("%s#%d", strings.ReplaceAll(x.label, " ", "-"), x.n.link))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), test.want)
			}
		})
	}
}

func TestCounterGivesBack(t *testing.T) {
	c := new(counter)
	for range 4 {
		c.take()
	}
	c.giveBack(2)
	c.giveBack(4)
	if c.high != 3 || c.used() != 2 || c.peek() != 2 {
		t.Fatalf("high %d, used %d, next %d; want 3, 2, 2", c.high, c.used(), c.peek())
	}
	c.giveBack(3)
	if c.high != 1 || len(c.free) != 0 {
		t.Fatalf("high %d with %v free; want 1 and none", c.high, c.free)
	}
	if c.take() != 2 || c.take() != 3 {
		t.Fatal("the next numbers are not 2 and 3")
	}
}

func TestWatchMatches(t *testing.T) {
	n := number{link: 1, role: 3}
	for text, want := range map[string]bool{
		`relay.0/postgres "insert" #1 before`: true,
		`relay.0/postgres "insert" #3 before`: false,
		`relay.*/postgres "insert" #3 before`: true,
		`relay.*/postgres "insert" #1 before`: false,
		`relay.1/postgres "insert" #1 before`: false,
		`relay.0/broker "insert" #1 before`:   false,
		`app.*/postgres "insert" #3 before`:   false,
	} {
		w := watch{point: *point(t, text)}
		if got := w.matches(relay0, n); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestArmRefuses(t *testing.T) {
	at := point(t, `relay.0/postgres "commit" #1 before`)
	any := faults.Link{Instance: faults.Instance{Role: "relay", Index: faults.Any}, Server: faults.Postgres}
	app := any
	app.Role = "app"
	until := point(t, `relay.0/postgres "commit" #2 after`)
	for name, test := range map[string]struct {
		fault faults.Fault
		want  string
	}{
		"what the vocabulary refuses": {faults.Fault{At: at}, "a fault needs do"},
		"any replica on the clock":    {faults.Fault{Do: faults.Cut, On: any}, "which replica"},
		"any replica of another role": {faults.Fault{Do: faults.Cut, At: at, On: app}, "which replica"},
		"a hold elsewhere":            {faults.Fault{Do: faults.Hold, At: at, Until: until, On: relay1}, "its own point"},
		"a point without a label":     {faults.Fault{Do: faults.Kill, At: &faults.Point{Link: relay0, Moment: faults.After}}, "not complete"},
	} {
		t.Run(name, func(t *testing.T) {
			b := New(Options{})
			defer b.Close()
			err := b.Arm([]faults.Fault{test.fault})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want something about %q", err, test.want)
			}
		})
	}
	b := New(Options{})
	defer b.Close()
	if err := b.Arm([]faults.Fault{{Do: faults.Kill, At: at}}); err != nil {
		t.Fatal(err)
	}
	if b.Arm(nil) == nil {
		t.Error("armed twice")
	}
}
