package search

import "github.com/outboxtest/outboxtest/faults"

// kills derives the cells of a kill. All that a kill leaves is what the servers
// have received: of the moments between two messages that a server acts on,
// one stands for all.
func (d *deriver) kills(i int, e exchange) {
	shared := d.shared[e.link.Role]
	representative := e.processed()
	// What a server streams leaves nothing behind on it.
	acts := !e.idle() && !setup(e.label) && e.label != "xlogdata"
	for _, m := range e.moments() {
		f := faults.Fault{At: e.point(m, shared), Do: faults.Kill}
		switch {
		case e.idle() && e.n > 1:
			d.skip(f, ReasonIdle)
		case !acts && !(e.n == 1 && m == representative):
			d.skip(f, ReasonEquivalent)
		case m == representative || m == faults.Before && d.first(i):
			d.kill(i, e, f)
		default:
			d.skip(f, ReasonEquivalent)
		}
	}
}

// kill adds a kill, and its variants: with the messages in flight on the
// instance's other connections dropped, and with the dead process's backends
// lingering where they hold a transaction open.
func (d *deriver) kill(i int, e exchange, f faults.Fault) {
	d.add(f, d.rankKill(i, e))
	for _, lost := range d.inFlight(e, f.At.Moment) {
		dropped := f
		dropped.Drop = []faults.Point{*lost.point(faults.Before, d.shared[lost.link.Role])}
		if lost.link == e.link {
			d.skip(dropped, ReasonBeside)
		} else {
			d.add(dropped, rankDrop)
		}
	}
	if e.inTransaction && f.At.Moment != faults.Before {
		lingering := f
		lingering.Then.Restart = faults.BackendsLinger
		d.add(lingering, rankLinger)
	}
}

// first reports whether no earlier exchange of the instance acts on a server.
func (d *deriver) first(i int) bool {
	for _, e := range d.all[:i] {
		if e.link.Instance == d.all[i].link.Instance && !e.idle() && !setup(e.label) {
			return false
		}
	}
	return true
}

// inFlight lists the messages that may not have arrived when the fault strikes:
// on each of the instance's other connections, what the client sent after it
// last heard from that server. Dropping one message drops all that follow it on
// its connection, so each stands for one prefix.
func (d *deriver) inFlight(e exchange, m faults.Moment) []exchange {
	const bound = 8
	moment := e.done
	if m == faults.Before {
		moment = e.sent
	}
	heard := map[int]int{}
	for _, x := range d.all {
		if x.link.Instance != e.link.Instance {
			continue
		}
		if x.shape != oneWay && x.done < moment {
			heard[x.conn] = max(heard[x.conn], x.done)
		}
	}
	var list []exchange
	for _, x := range d.all {
		if x.link.Instance != e.link.Instance || x.conn == e.conn || x.shape == push || setup(x.label) || x.blind {
			continue
		}
		answered := x.shape == twoWay && x.done < moment
		if x.sent < moment && x.sent > heard[x.conn] && !answered && len(list) < bound {
			list = append(list, x)
		}
	}
	return list
}
