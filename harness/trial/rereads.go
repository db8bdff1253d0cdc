package trial

import (
	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
)

// rereads tell a relay that polls and finds what it found before from one that
// works on it: what a connection to Postgres reads again is no poll when the relay
// has published, or changed rows on another connection, since it read it last. It is
// about to do so again.
type rereads map[faults.Instance]map[int]span

// span is, on one connection, the last exchange that was answered, and the last
// that was when the relay acted.
type span struct{ answered, acted uint64 }

// poll takes a whole exchange of a relay, and reports whether it is a poll that
// found nothing to do.
func (r rereads) poll(o wire.Observation) (idle bool) {
	conns := r[o.Link.Instance]
	if conns == nil {
		conns = map[int]span{}
		r[o.Link.Instance] = conns
	}
	if o.Link.Server == faults.Postgres {
		s := conns[o.Conn]
		idle = o.Event.Idle && (o.Event.Same == 0 || o.Event.Same > s.acted)
		s.answered = max(s.answered, o.Exchange)
		conns[o.Conn] = s
	}
	// What its own connection changed the codec knows.
	if o.Label == "publish" || o.Event.Write && !o.Event.Idle {
		for conn, s := range conns {
			if conn != o.Conn {
				conns[conn] = span{s.answered, s.answered}
			}
		}
	}
	return idle
}
