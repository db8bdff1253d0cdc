package properties

import (
	"strings"
	"time"
)

// Rounds is how often an instance of the publisher went round in a part of a
// history, which says that it lives where no poll comes back empty: a relay that
// reads a stuck row again and again, or whose query always returns a row. It is the
// greatest number of replies that one request, by its label, had from Postgres on
// one link, so that a poll of several statements counts once.
func Rounds(h []Event, publisher string, from, until time.Duration) int {
	type request struct{ link, label string }
	replies := map[request]int{}
	most := 0
	for _, e := range h {
		w := e.Wire
		if w == nil || e.At < from || e.At > until || w.What != WireReply || w.Label == "connect" {
			continue
		}
		if RoleOf(w.Link) != publisher || ServerOf(w.Link) != "postgres" {
			continue
		}
		r := request{w.Link, strings.TrimSuffix(w.Label, " idle")}
		replies[r]++
		most = max(most, replies[r])
	}
	return most
}

// wentRound reports whether the publisher went round ten times as often as it
// promises to poll, in the part of the wait for the outbox that counts.
func (ix *index) wentRound() bool {
	return Rounds(ix.h[:ix.drain.Seq-1], ix.publisher(), ix.drain.At-ix.waited(), ix.drain.At)/10 >= ix.trial.Promise.Polls
}
