package search

import "github.com/outboxtest/outboxtest/faults"

// The ranks, likeliest first. They are rules about the wire, none about a
// target: a dual write goes wrong between an effect on one server and the next
// effect on the other.
const (
	rankBetween = iota // a kill between effects on different servers
	rankEnd            // a kill at the end of a transaction
	rankLate           // a late commit between two statements of a relay
	rankDrop           // a kill with messages in flight lost
	rankDoubt          // a connection broken at an effect: the client cannot know whether it happened
	rankKill           // any other kill
	rankBreak          // any other broken connection
	rankLinger         // a kill whose backends linger
	rankRest           // what the rules leave out
)

// rankKill ranks a kill just after exchange i.
func (d *deriver) rankKill(i int, e exchange) int {
	if e.idle() || setup(e.label) {
		return rankKill
	}
	if e.effect() {
		for _, next := range d.all[i+1:] {
			if next.link.Instance != e.link.Instance || !next.effect() {
				continue
			}
			if next.link.Server != e.link.Server {
				return rankBetween
			}
			break
		}
	}
	if e.ended {
		return rankEnd
	}
	return rankKill
}

// rankBreak ranks a broken connection at a moment of e.
func (e exchange) rankBreak(m faults.Moment) int {
	if e.effect() && m != faults.After && (e.link.Server == faults.Broker || e.ended) {
		return rankDoubt
	}
	return rankBreak
}

// effect reports whether the exchange changes something that others can see.
func (e exchange) effect() bool {
	if e.idle() || setup(e.label) {
		return false
	}
	if e.link.Server == faults.Broker {
		return e.shape != push
	}
	return e.write || e.ended
}
