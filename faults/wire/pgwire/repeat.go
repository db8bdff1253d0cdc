package pgwire

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// repeatsAtMost bounds the requests of a connection whose replies are remembered.
const repeatsAtMost = 64

// repeats tells a poll that finds what it found before. A relay whose poll always
// returns a row (an aggregate, a function, a cursor), or that reads a stuck row
// again and again, never has an empty reply; its rounds are idle all the same.
//
// A read is idle when the same request, statement and parameters, had byte for byte
// the same rows and tag the last time on this connection, and the connection has
// brought no news since. The client then knows what it knew when it had that reply,
// and the server is as it was, as far as anyone can see: to strike here is to strike
// there. News is:
//
//   - a change: a command whose tag counts changed rows, a query that names a change
//     in its text, a transaction that changed rows and ended, either way, an error,
//     and whatever the codec cannot tell to be a read. Nothing that was read before
//     counts from here on;
//   - a read with a reply of its own: one that was not asked before, or had another
//     reply. What it tells may be what the client acts on next, so a read that is
//     asked again in a round of work is none of an idle one;
//   - a function of unknown nature behind such news: it may have worked.
//
// A function of unknown nature may write. If it takes rows its reply tells them, and
// differs; if it writes and returns the same (a heartbeat) the state is the same
// again for whoever reads the wire. Queries without a table (now(), an advisory lock)
// are no news, nor are empty replies where none was full before.
//
// The rest of a portal that was executed in part, a message of more than
// [frame.MaxRead] bytes and a text that begins or ends a transaction block are no
// repeats.
type repeats struct {
	hash maphash.Hash
	// news counts what the connection brought.
	news uint64
	// wrote: the open block has changed rows.
	wrote bool
	seen  []reading // the longest ago first
}

// reading is the last reply to a request.
type reading struct {
	asked, sum uint64
	news       uint64 // what there was of it with the reply
	exchange   uint64
}

// answers reports whether the reply to s tells what s did: it reads, and changes
// at most in a function.
func (s *Statement) answers() bool {
	if s == nil || s.Begin || s.End {
		return false
	}
	found := false
	for _, t := range s.parts {
		if t&(reads|quiet) == 0 {
			return false
		}
		found = found || t&reads != 0
	}
	return found
}

// empty reports whether e touched no row and read none.
func (e *entry) empty() bool { return e.rows == 0 && !e.active }

// answered takes notice of the reply to e. When it found rows that it had found
// before it returns the exchange that found them last, else 0. Block says that a
// transaction block is open behind it.
func (r *repeats) answered(e *entry, block bool) (last uint64) {
	ended := e.ended != "" && r.wrote
	r.wrote = (r.wrote || e.asked == 0 && e.write) && block
	if e.err != "" || ended || e.asked == 0 && (e.active || e.write) {
		r.changed()
		return 0
	}
	if e.asked == 0 {
		return 0
	}
	at := slices.IndexFunc(r.seen, func(s reading) bool { return s.asked == e.asked })
	same := at >= 0 && r.seen[at].sum == e.sum && !e.cut
	switch {
	case same && (e.empty() || r.seen[at].news == r.news):
		if e.rows > 0 {
			last = r.seen[at].exchange
		}
	case same:
		if e.write {
			r.news++
		}
	case e.empty():
		if at >= 0 {
			r.news++
		}
	case e.statement.Quiet:
	case e.write:
		r.changed()
		at = -1
	default:
		r.news++
	}
	if at >= 0 {
		r.seen = slices.Delete(r.seen, at, at+1)
	} else if len(r.seen) == repeatsAtMost {
		r.seen = slices.Delete(r.seen, 0, 1)
	}
	if !e.cut {
		r.seen = append(r.seen, reading{e.asked, e.sum, r.news, e.exchange})
	}
	return last
}

// changed forgets what was read: it may be something else now.
func (r *repeats) changed() {
	r.news++
	r.seen = r.seen[:0]
}

// mix is a hash of what sum stands for and of p behind it; never 0.
func (r *repeats) mix(sum uint64, p []byte) uint64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], sum)
	r.hash.Reset()
	_, _ = r.hash.Write(b[:]) // never fails
	_, _ = r.hash.Write(p)
	return max(r.hash.Sum64(), 1)
}

// both is a hash of two.
func (r *repeats) both(a, b uint64) uint64 {
	var p [8]byte
	binary.BigEndian.PutUint64(p[:], b)
	return r.mix(a, p[:])
}
