package pgwire

// kind is what waits in the queue for the server's answer.
type kind uint8

const (
	connecting kind = iota
	executing       // an Execute
	querying        // a simple Query or a FunctionCall
	syncing         // a Sync: no exchange, but a ReadyForQuery will answer it
	spent           // a query already replied to, whose ReadyForQuery is still to come
)

// entry is one exchange, or one Sync, that the server has yet to answer.
type entry struct {
	kind     kind
	exchange uint64
	label    string
	// statement is nil when the SQL is not known.
	statement *Statement
	// next is the statement of a simple query that completes next.
	next int
	// transaction tells apart the replies of successive transactions.
	transaction uint64

	rows     int64 // -1 until a tag tells
	dataRows int64
	write    bool
	active   bool // a statement did, or may have done, something
	ended    string
	err      string

	// asked is a hash of the request, 0 when its reply tells nothing of its
	// effect; sum is one of the rows and the tags that came. See [repeats].
	asked, sum uint64
	// cut: a part of the reply was too long to be seen whole.
	cut bool
}

// number is the exchange that a server's frame belongs to while e is first.
func (e *entry) number() uint64 {
	if e == nil || e.kind == syncing || e.kind == spent {
		return 0
	}
	return e.exchange
}

// withheldBy is the exchange whose answer a server's frame is part of while e
// is first. The authentication is a dialogue: keeping back its parts until the
// server is ready would keep the server from ever being ready.
func (e *entry) withheldBy() uint64 {
	if e != nil && e.kind == connecting {
		return 0
	}
	return e.number()
}

// readies reports whether ReadyForQuery ends e.
func (e *entry) readies() bool { return e.kind != executing }

// queue holds what the server has yet to answer, in the order it was asked.
// The pointers it gives are good until the next push or drop.
type queue struct {
	entries []entry
	first   int
}

func (q *queue) len() int { return len(q.entries) - q.first }

// at returns the i-th entry from the front, or nil.
func (q *queue) at(i int) *entry {
	if i < 0 || i >= q.len() {
		return nil
	}
	return &q.entries[q.first+i]
}

func (q *queue) push(e entry) { q.entries = append(q.entries, e) }

// drop removes n entries from the front.
func (q *queue) drop(n int) {
	n = min(n, q.len())
	clear(q.entries[q.first : q.first+n])
	q.first += n
	if q.first == len(q.entries) {
		q.entries, q.first = q.entries[:0], 0
	} else if q.first > 256 && q.first > len(q.entries)/2 {
		kept := copy(q.entries, q.entries[q.first:])
		clear(q.entries[kept:])
		q.entries, q.first = q.entries[:kept], 0
	}
}

// dropSyncs removes the Syncs directly behind the first entry.
func (q *queue) dropSyncs() {
	for q.len() > 1 && q.at(1).kind == syncing {
		i := q.first + 1
		q.entries = append(q.entries[:i], q.entries[i+1:]...)
	}
}

// synced reports whether the i-th entry is directly followed by a Sync: with
// nothing but parts, such as a Close of the portal, between them.
func (q *queue) synced(i int) bool {
	next := q.at(i + 1)
	return next != nil && next.kind == syncing
}

// segment is the number of entries before the first Sync.
func (q *queue) segment() int {
	for i := range q.len() {
		if q.at(i).kind == syncing {
			return i
		}
	}
	return q.len()
}
