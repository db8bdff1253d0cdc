package natswire

// maxWaiting bounds the exchanges that wait for a reply. Beyond it the oldest
// is forgotten: its reply is then taken for a delivery. A reply subject longer
// than maxSubject, which a server with the default max_control_line refuses, is
// not remembered either.
const (
	maxWaiting = 4096
	maxSubject = 4096
)

// pending is an exchange that waits for a message on its reply subject.
type pending struct {
	exchange uint64
	label    string
}

// waiting finds exchanges by their reply subject. Several may wait on one
// subject; they are answered in order.
type waiting struct {
	on map[string][]pending
	// ring holds the last maxWaiting subjects, the oldest at next.
	ring []slot
	next int
}

type slot struct {
	subject  string
	exchange uint64
}

func newWaiting() waiting { return waiting{on: map[string][]pending{}} }

func (w *waiting) add(subject string, p pending) {
	if len(subject) > maxSubject {
		return
	}
	s := slot{subject: subject, exchange: p.exchange}
	if len(w.ring) < maxWaiting {
		w.ring = append(w.ring, s)
	} else {
		old := w.ring[w.next]
		// Within a subject the oldest is first, so it is there or it is gone.
		if list := w.on[old.subject]; len(list) > 0 && list[0].exchange == old.exchange {
			w.take(old.subject)
		}
		w.ring[w.next] = s
		w.next = (w.next + 1) % maxWaiting
	}
	w.on[subject] = append(w.on[subject], p)
}

// take returns the exchange that has waited longest on a subject.
func (w *waiting) take(subject string) (pending, bool) {
	list := w.on[subject]
	if len(list) == 0 {
		return pending{}, false
	}
	if len(list) == 1 {
		delete(w.on, subject)
	} else {
		w.on[subject] = list[1:]
	}
	return list[0], true
}
