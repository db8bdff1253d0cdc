package search

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/faults/wire/pgwire"
	"github.com/outboxtest/outboxtest/properties"
)

// talker writes the tape of a connection to Postgres, with the labels that the
// codec gives and the numbers of the wire.
type talker struct {
	t     *testing.T
	tape  *tape
	codec *pgwire.Conversation
	count map[string]int
	// begun: the number of the last begin is given back if its transaction is idle.
	begun bool
}

func typed(tag byte, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{tag}, uint32(len(body)+4)), body...)
}

// ask is a simple query, its rows, its tag and the state behind it.
func (k *talker) ask(sql, tag, state string, rows ...string) {
	k.t.Helper()
	read := func(dir frame.Direction, b []byte) []frame.Event {
		events, err := k.codec.Read(dir, b)
		if err != nil {
			k.t.Fatal(err)
		}
		return slices.Clone(events)
	}
	request := read(frame.FromClient, typed('Q', sql+"\x00"))[0]
	asked := request.Label
	if request.End && request.Idle {
		asked += " idle"
		if k.begun {
			k.count["begin"]--
		}
	}
	k.count[asked]++
	k.tape.wire("relay.0/postgres", 1, properties.WireRequest, int(request.Exchange), asked, k.count[asked], "", false)
	for _, r := range rows {
		read(frame.FromServer, typed('D', r))
	}
	read(frame.FromServer, typed('C', tag+"\x00"))
	reply := read(frame.FromServer, typed('Z', state))[0]
	answered := asked
	if reply.Idle {
		k.count[asked]--
		answered += " idle"
		k.count[answered]++
	} else if !request.Begin && !request.End {
		k.begun = false
	}
	k.begun = k.begun || request.Begin
	k.tape.wire("relay.0/postgres", 1, properties.WireReply, int(request.Exchange), answered, k.count[answered], reply.Ended, reply.Write)
}

// cursorRelay is a relay that keeps its position in a table and asks for it again
// before it moves it, because it might be somebody else's now. Both of its reads
// always return a row.
func cursorRelay(t *testing.T) *tape {
	k := &talker{t: t, tape: newTape("relay"), codec: pgwire.New(), count: map[string]int{}}
	poll := func(position, rows string) {
		k.ask("begin", "BEGIN", "T")
		k.ask("select last_id from positions for update", "SELECT 1", "T", position)
		k.ask("select coalesce(jsonb_agg(o), '[]') from outbox o", "SELECT 1", "T", rows)
	}
	for range 9 {
		poll("0", "[]")
		k.ask("commit", "COMMIT", "I")
	}
	for i, position := range []string{"0", "1"} {
		poll(position, "[o]"+position)
		k.tape.exchange("relay.0/broker", 2, i+1, "publish", i+1, "", true)
		k.ask("select last_id from positions for update", "SELECT 1", "T", position)
		k.ask("update positions set last_id = last_id + 1", "UPDATE 1", "T")
		k.ask("commit", "COMMIT", "I")
		for range 9 {
			poll(position+"+1", "[]")
			k.ask("commit", "COMMIT", "I")
		}
	}
	return k.tape
}

// A relay that takes a broken connection at its second question for "the position
// is not mine" and drops the batch shows it nowhere else than there: the question
// is the one that all its idle polls ask, with the same answer.
func TestAReadAgainInARoundOfWorkIsVisited(t *testing.T) {
	h := cursorRelay(t)
	published := false
	var again []string
	for _, x := range exchanges(h.events) {
		switch {
		case x.label == "publish":
			published = true
		case published && strings.HasPrefix(x.label, "select positions"):
			again = append(again, faults.Fault{At: x.point(faults.Unanswered, false), Do: faults.Cut}.String())
			published = false
		}
	}
	if len(again) != 2 {
		t.Fatalf("the relay asks again %d times, want 2", len(again))
	}
	cells, _ := Cells(h.recording(), Options{})
	for _, want := range again {
		if !slices.Contains(texts(cells), want) {
			t.Errorf("no cell %s in\n%s", want, strings.Join(texts(cells), "\n"))
		}
	}
}

// However often a relay polls, its idle polls have the cells of the first ones.
func TestPollsThatAlwaysReturnARowAreIdle(t *testing.T) {
	cells, left := Cells(cursorRelay(t).recording(), Options{Faults: []faults.Kind{faults.Cut}})
	for _, c := range cells {
		if c.Fault.At.N > 12 {
			t.Errorf("%s: every poll has cells", c)
		}
	}
	if !slices.ContainsFunc(Count(left), func(l LeftOut) bool { return l.Reason == ReasonIdle && l.Cells > 50 }) {
		t.Errorf("left out: %v, want the idle polls", Count(left))
	}
	if len(cells) > 100 {
		t.Errorf("%d cells for two orders", len(cells))
	}
}
