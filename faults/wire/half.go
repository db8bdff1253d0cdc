package wire

import (
	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// keep is how many bytes a direction keeps at the proxy before it leaves the
// rest to the sockets' own buffers. A frame that a codec is to see fits in.
const keep = 4 * frame.MaxRead

// half is one direction of a connection. The board's lock guards all of it;
// its bytes are handed over by the pipe, outside the lock.
type half struct {
	conn *conn
	dir  frame.Direction
	wake chan struct{} // has a token when the half must look again
	gone chan struct{} // closed when the source has ended

	pending []byte    // at the proxy, not let pass
	queue   []waiting // frames at the start of pending that were read
	queued  int       // their length together; a long frame may reach beyond pending
	eof     bool      // the source has ended
	closed  bool      // the destination is being closed
	blind   bool      // discard reads no more

	out delivery // what was let pass; only the pipe touches it
}

// waiting is a frame that was read and has not passed.
type waiting struct {
	left    int           // bytes still to pass
	events  []frame.Event // what it means
	bound   bool          // its events are in marks: the whole frame is here
	marks   []mark
	holders []*armed // faults that keep it back
	kept    bool     // it was observed as held or answered
}

func (w *waiting) held() bool {
	for _, f := range w.holders {
		if f.holds() {
			return true
		}
	}
	return false
}

func (h *half) init(c *conn, dir frame.Direction) {
	h.conn, h.dir = c, dir
	h.wake = make(chan struct{}, 1)
	h.gone = make(chan struct{})
}

// other is the opposite direction: its source is this one's destination.
func (h *half) other() *half {
	if h.dir == frame.FromClient {
		return &h.conn.down
	}
	return &h.conn.up
}

func (h *half) rouse() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// arrive takes bytes from the source. The slice is kept: toxiproxy makes one
// for each chunk and does not touch it again.
func (h *half) arrive(p []byte) {
	if len(h.pending) == 0 {
		h.pending = p
		return
	}
	h.pending = append(h.pending, p...)
}

// finish notes that the source has ended.
func (h *half) finish() {
	if h.eof {
		return
	}
	h.eof = true
	close(h.gone)
	h.other().rouse()
}

// full reports whether the source has to wait. A withheld answer never makes
// it wait: its end must arrive.
func (h *half) full() bool {
	return len(h.pending) > keep && !h.conn.dead && (h.dir == frame.FromClient || h.conn.withheld == 0)
}

// step decides what passes now.
func (h *half) step() (d delivery) {
	c := h.conn
	switch {
	case h.closed:
		h.discard()
	case c.dead:
		h.discard()
		if h.dir == frame.FromClient && c.linger && !c.down.eof {
			break // the server is to believe in this connection
		}
		h.close()
	case c.frozen():
	case h.other().eof:
		// Nobody is there any more to receive it.
		h.discard()
		h.close()
	default:
		d.bytes, d.fires = h.pass()
		if h.eof && len(h.pending) == 0 && len(d.fires) == 0 && !c.dead && !c.frozen() {
			h.close()
		}
		d.last = len(h.pending) == 0 && len(d.fires) == 0 && !h.eof
	}
	d.close = h.closed
	d.full = h.full()
	return d
}

func (h *half) close() {
	if !h.closed {
		h.closed = true
		if !(h.conn.linger && h.dir == frame.FromServer) {
			h.conn.end()
		}
	}
}

// pass returns the bytes that may pass now and the faults that strike when
// they have been handed over.
func (h *half) pass() (out []byte, fires []*armed) {
	c, start, n := h.conn, h.pending, 0
	for !c.dead && !c.frozen() && len(fires) == 0 {
		var k int
		var more bool
		if k, more, fires = h.passNext(); k > 0 {
			// The slice is taken from where it began, not from what is left: a
			// fault may have dropped what is left.
			n += k
		}
		if !more {
			break
		}
	}
	if n > 0 {
		c.board.changed()
	}
	return start[:n:n], fires
}

// passNext lets at most one frame pass, k bytes of pending. It reports false
// when nothing more can pass for now.
func (h *half) passNext() (k int, more bool, fires []*armed) {
	c := h.conn
	if len(h.queue) > 0 && h.queue[0].held() {
		return 0, false, nil
	}
	if c.opaque {
		return h.flush()
	}
	if len(h.queue) == 0 {
		w, ok := h.read(0)
		if !ok {
			return h.starved()
		}
		if w.left <= len(h.pending) && h.plain(w.events) {
			h.pending = h.pending[w.left:]
			return w.left, true, nil
		}
		h.enqueue(w)
	}
	w := &h.queue[0]
	switch {
	case !w.bound && w.left > len(h.pending):
		// A long frame. Its last byte is kept until the whole of it is here:
		// without it the frame means nothing to whoever receives it.
		if h.eof {
			return h.flush()
		}
		if !h.withholds(w) {
			k = len(h.pending)
			h.pending, w.left, h.queued = h.pending[k:], w.left-k, h.queued-k
		}
		return k, false, nil
	case !w.bound:
		h.bind(w)
		return 0, true, nil
	case h.withholds(w):
		// Its reply is not here yet: read on until it is.
		if !h.readAhead() {
			return h.starved()
		}
		return 0, true, nil
	}
	k = w.left
	h.pending, h.queued = h.pending[k:], h.queued-k
	fires = h.leave(w)
	h.dequeue()
	return k, true, fires
}

// starved says what to do when no further frame can be read.
func (h *half) starved() (k int, more bool, fires []*armed) {
	if h.conn.opaque {
		return 0, true, nil
	}
	if h.eof {
		return h.flush()
	}
	return 0, false, nil
}

// flush lets everything pass that is here, whole frames or not: the connection
// is opaque, or nothing more will come.
func (h *half) flush() (k int, more bool, fires []*armed) {
	for i := range h.queue {
		fires = append(fires, h.leave(&h.queue[i])...)
	}
	k = len(h.pending)
	h.queue, h.queued, h.pending = nil, 0, nil
	return k, false, fires
}

// enqueue keeps a frame that was read behind those that wait. Its events are
// copied: a codec may use the slice again at the next Read.
func (h *half) enqueue(w waiting) {
	n := len(h.queue)
	if n == cap(h.queue) {
		h.queue = append(h.queue, waiting{})
	} else {
		h.queue = h.queue[:n+1]
	}
	slot := &h.queue[n]
	slot.left = w.left
	slot.events = append(slot.events, w.events...)
	h.queued += w.left
}

// dequeue forgets the first frame, which has passed. Mostly no other waits, and
// then its slot keeps its memory for the next: a frame that passes at once
// costs no allocation here.
func (h *half) dequeue() {
	if len(h.queue) > 1 {
		h.queue = h.queue[1:]
		return
	}
	w := &h.queue[0]
	clear(w.events)
	clear(w.marks)
	*w = waiting{events: w.events[:0], marks: w.marks[:0]}
	h.queue = h.queue[:0]
}
