package wire

import (
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
)

// TestNextCountsFromTheSegment: the points of a segment's faults count what
// comes after it has begun, also where a poll was under way at that moment.
func TestNextCountsFromTheSegment(t *testing.T) {
	s := serve(t)
	tr := newTrial(t, faults.Fault{Do: faults.Hang, At: point(t, `relay.0/postgres "insert" #2 before`)})
	c, d := dial(t, tr.link(relay0, s)), dial(t, tr.link(relay1, s))
	c.ask("insert")
	c.send("insert")
	tr.wait()
	tr.Heal(0)
	c.want("+")
	c.ask("commit", "begin", "claim", "commit")
	// Two open transactions that have done nothing yet: one will turn out idle.
	c.ask("begin")
	d.ask("begin")

	if err := tr.Next([]faults.Fault{
		{Do: faults.Hang, At: point(t, `relay.0/postgres "insert" #1 before`)},
		{Do: faults.Hang, At: point(t, `relay.*/postgres "claim" #1 unanswered`)},
		{Do: faults.Hang, At: point(t, `relay.*/postgres "begin" #2 before`)},
	}); err != nil {
		t.Fatal(err)
	}
	fires := func(c *client, index int, text string) {
		t.Helper()
		c.send(text)
		if f := tr.wait(); f.Index != index {
			t.Fatalf("%s: fault %d fired, want %d", text, f.Index, index)
		}
		tr.Heal(index)
		c.want("+")
	}
	d.ask("claim|idle", "commit")
	fires(c, 2, "claim")
	fires(c, 1, "insert")
	c.ask("commit")
	fires(d, 3, "begin")
	if all := tr.Faults(); len(all) != 4 || !all[0].Fired() {
		t.Errorf("faults: %+v", all)
	}
}

// TestNextForgets: what has not fired by then never will, and says what was
// seen in its own segment.
func TestNextForgets(t *testing.T) {
	s := serve(t)
	tr := newTrial(t, faults.Fault{Do: faults.Kill, At: point(t, `relay.0/postgres "insert" #2 before`)})
	c := dial(t, tr.link(relay0, s))
	c.ask("insert", "update")
	if err := tr.Next([]faults.Fault{{Do: faults.Kill, At: point(t, `relay.0/postgres "update" #2 before`)}}); err != nil {
		t.Fatal(err)
	}
	c.ask("insert", "update")
	all := tr.Faults()
	if all[0].Fired() || all[0].State != StateDisarmed || all[1].Fired() {
		t.Errorf("faults: %+v", all)
	}
	if !strings.Contains(all[1].Why, `"update" was seen 1 times`) {
		t.Errorf("why: %s", all[1].Why)
	}
}
