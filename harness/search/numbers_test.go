package search

import (
	"slices"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
)

// TestReplicasCountTogether: what two relays do in turn has one number each,
// among both of them; what turned out idle has none of the numbers of work.
func TestReplicasCountTogether(t *testing.T) {
	h := newTape("relay")
	round := func(link string, conn, id, n int) {
		h.exchange(link, conn, id, "begin", n, "", false)
		h.exchange(link, conn, id+1, "select outbox", n, "", false)
		h.exchange(link, conn, id+2, "update outbox", n, "", true)
		h.exchange(link, conn, id+3, "commit", n, "commit", false)
	}
	poll := func(link string, conn, id, n, idle int) {
		h.exchange(link, conn, id, "begin", n, "", false)
		h.exchange(link, conn, id+1, "select outbox idle", idle, "", false)
		h.exchange(link, conn, id+2, "commit idle", idle, "commit", false)
	}
	poll("relay.0/postgres", 1, 1, 1, 1)
	poll("relay.1/postgres", 2, 1, 1, 1)
	round("relay.0/postgres", 1, 4, 1)
	round("relay.1/postgres", 2, 4, 1)
	poll("relay.0/postgres", 1, 8, 2, 2)
	round("relay.1/postgres", 2, 8, 2)
	// Work and its end in one request: the begin keeps its number.
	h.exchange("relay.0/postgres", 1, 11, "begin", 2, "", false)
	h.exchange("relay.0/postgres", 1, 12, "delete outbox", 1, "commit", true)
	h.exchange("relay.0/postgres", 1, 13, "begin", 3, "", false)
	cells, left := Cells(h.recording(), Options{Faults: []faults.Kind{faults.Kill}})
	found := texts(cells)
	for _, o := range left {
		found = append(found, o.Fault.String())
	}
	sorted := slices.Sorted(slices.Values(found))
	if once := slices.Compact(slices.Clone(sorted)); len(once) != len(found) {
		t.Errorf("replicas share their cells, but of %d only %d differ", len(found), len(once))
	}
	for _, want := range []string{
		`kill at relay.*/postgres "update outbox" #1 unanswered`,
		`kill at relay.*/postgres "update outbox" #2 unanswered`,
		`kill at relay.*/postgres "update outbox" #3 unanswered`,
		`kill at relay.*/postgres "begin" #3 unanswered`,
		`kill at relay.*/postgres "begin" #5 unanswered`,
		`kill at relay.*/postgres "select outbox idle" #3 unanswered`,
	} {
		if !slices.Contains(found, want) {
			t.Errorf("no cell %s", want)
		}
	}
	for _, not := range []string{
		`kill at relay.*/postgres "update outbox" #4 unanswered`,
		`kill at relay.*/postgres "begin" #6 unanswered`,
		`kill at relay.*/postgres "select outbox idle" #4 unanswered`,
	} {
		if slices.Contains(found, not) {
			t.Errorf("%s: there were not so many", not)
		}
	}
}
