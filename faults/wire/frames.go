package wire

import (
	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// read takes the meaning of the frame at offset off of pending. It reports
// false when too little of it is here, or when the codec cannot read it.
func (h *half) read(off int) (w waiting, ok bool) {
	if off >= len(h.pending) {
		return w, false
	}
	c, p := h.conn, h.pending[off:]
	n, err := c.talk.Split(h.dir, p)
	if err == nil {
		need := min(n, frame.MaxRead)
		if n <= 0 || len(p) < need {
			return w, false
		}
		w.left = n
		w.events, err = c.talk.Read(h.dir, p[:need])
	}
	if err != nil {
		c.board.log.Debug("connection turned opaque", "link", c.link.name.String(), "conn", c.id, "error", err)
		c.turnOpaque()
		return w, false
	}
	for i := range w.events {
		c.note(&w.events[i])
	}
	return w, true
}

// readAhead reads one more frame behind those that wait.
func (h *half) readAhead() bool {
	last := &h.queue[len(h.queue)-1]
	if !last.bound {
		if h.queued > len(h.pending) {
			return false
		}
		h.bind(last)
		return true
	}
	w, ok := h.read(h.queued)
	if !ok {
		return false
	}
	h.enqueue(w)
	if h.queued <= len(h.pending) {
		h.bind(&h.queue[len(h.queue)-1])
	}
	return true
}

// plain reports whether a frame has nothing to number, match or withhold.
func (h *half) plain(events []frame.Event) bool {
	for i := range events {
		if e := &events[i]; e.Kind != frame.Part || h.withholdsEvent(e) {
			return false
		}
	}
	return true
}

// withholds reports whether the frame is part of an answer that may not pass
// before its reply is at the proxy.
func (h *half) withholds(w *waiting) bool {
	for i := range w.events {
		if e := &w.events[i]; e.Kind == frame.Part && h.withholdsEvent(e) || e.Kind == frame.Reply && !w.bound && h.withholdsEvent(e) {
			return true
		}
	}
	return false
}

func (h *half) withholdsEvent(e *frame.Event) bool {
	if h.dir != frame.FromServer || h.conn.withheld == 0 || e.Exchange == 0 {
		return false
	}
	x := h.conn.open[e.Exchange]
	return x != nil && x.withheld
}

// bind numbers and matches the events of a frame that is whole at the proxy.
// Faults that fire here freeze first; then what they keep is observed, and
// then they are told.
func (h *half) bind(w *waiting) {
	c := h.conn
	w.bound = true
	var fires []*armed
	for _, e := range w.events {
		m, moment, ok := c.enter(e)
		if !ok {
			continue
		}
		w.marks = append(w.marks, m)
		hits, holders := c.board.match(c, &m, moment)
		fires = append(fires, hits...)
		w.holders = append(w.holders, holders...)
	}
	if c.frozen() || w.held() {
		w.kept = true
		for i := range w.marks {
			c.observe(keptAs(&w.marks[i]), &w.marks[i])
		}
	}
	for _, f := range fires {
		c.board.tell(f)
	}
}

func keptAs(m *mark) string {
	if m.event.Kind == frame.Reply {
		return Answered
	}
	return Held
}

// leave observes that a frame passes, and strikes the faults whose moment is
// after it: they freeze at once and are told when the frame was handed over.
func (h *half) leave(w *waiting) (fires []*armed) {
	c := h.conn
	for i := range w.marks {
		m := &w.marks[i]
		if w.kept {
			c.observe(Released, m)
		}
		if c.leave(m) {
			hits, _ := c.board.match(c, m, faults.After)
			fires = append(fires, hits...)
		}
	}
	return fires
}

// discard drops what is here. What the server said is still read, because a
// commit that nobody heard of is a commit.
func (h *half) discard() {
	c := h.conn
	for i := range h.queue {
		w := &h.queue[i]
		h.blind = h.blind || !w.bound
		for j := range w.marks {
			if m := &w.marks[j]; w.kept || m.event.Kind == frame.Reply {
				if !w.kept {
					c.observe(Answered, m)
				}
				c.observe(Dropped, m)
			}
		}
	}
	rest := h.pending[min(h.queued, len(h.pending)):]
	h.queue, h.queued, h.pending = nil, 0, nil
	if c.opaque || h.dir == frame.FromClient || h.closed && len(c.open) == 0 {
		return
	}
	for !h.blind && len(rest) > 0 {
		n, err := c.talk.Split(h.dir, rest)
		if err != nil || n > frame.MaxRead {
			h.blind = true
			return
		}
		if n <= 0 || n > len(rest) {
			h.pending = rest
			return
		}
		events, err := c.talk.Read(h.dir, rest[:n])
		rest = rest[n:]
		h.blind = err != nil
		for _, e := range events {
			c.note(&e)
			// The number stays as it was at the request, idle or not: whether the
			// reply overtook the fault must not change the numbers that follow.
			if x := c.open[e.Exchange]; x != nil && e.Kind == frame.Reply {
				m := mark{event: e, x: x, label: x.label, n: x.n}
				delete(c.open, e.Exchange)
				c.observe(Answered, &m)
				c.observe(Dropped, &m)
			}
		}
	}
}
