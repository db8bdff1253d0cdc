// Package frame is what the codecs and the wire say to each other about one
// connection: where a frame ends, and what a frame means. It holds no I/O.
package frame

// Direction tells who sent the bytes.
type Direction uint8

// The two directions of a connection.
const (
	FromClient Direction = iota
	FromServer
)

// Conversation follows one connection in one protocol. It is not safe for
// concurrent use. It never changes bytes; it keeps no reference to the slices
// it is given.
type Conversation interface {
	// Split returns the length of the first frame that starts at p[0], or 0
	// when p is too short to tell. The length may exceed len(p): the rest of
	// the frame has not arrived. An error means the stream cannot be read (TLS,
	// a broken frame): the connection is opaque from here on.
	Split(dir Direction, p []byte) (n int, err error)
	// Read takes the meaning of a whole frame that is about to pass. Frames of
	// one direction are given in order, each exactly once, when they pass and
	// not when they arrive. For a frame longer than MaxRead only its first
	// MaxRead bytes are given. The slice it returns may be used again for the
	// next Read of the same direction; what the events point to may not.
	Read(dir Direction, f []byte) ([]Event, error)
}

// MaxRead is the number of bytes of a frame that a conversation gets to see.
const MaxRead = 1 << 20

// Kind says what a frame does to an exchange.
type Kind uint8

// The kinds of an Event.
const (
	// Part belongs to an exchange (Exchange != 0) or to none, and neither
	// starts nor ends it. The start-up, Parse, Bind, Sync, DataRow, PING.
	Part Kind = iota
	// Request starts an exchange; a Reply with the same Exchange ends it.
	Request
	// Reply ends an exchange.
	Reply
	// OneWay is a client's message that nothing will confirm.
	OneWay
	// Push is a server's own message: a delivery, a notification, WAL data.
	Push
)

// Event is the meaning of one frame, or a part of its meaning: one frame can
// end several exchanges.
type Event struct {
	Kind Kind
	// Exchange numbers the exchanges of one connection from 1, in the order of
	// their requests. One-way messages and pushes have numbers too.
	Exchange uint64
	// Label is set on Request, OneWay and Push, and repeated on Reply. It has
	// no suffix "idle"; see Idle.
	Label string
	// Idle on a Reply: the statement touched no row and read none, or it read
	// what it had read before (see Same). On the Request of a commit or a
	// rollback: the transaction so far was idle (nothing but begin and idle
	// statements).
	Idle bool
	// Same on an idle Reply with rows: the exchange of this connection that
	// asked for the same the last time and had the same reply, with no change
	// and no news on the connection since. What the client did on its other
	// connections meanwhile is not looked at. Else 0.
	Same uint64
	// Begin on a Request: the exchange opens a transaction block, whose
	// idleness is known only at its end.
	Begin bool
	// End on a Request: the exchange ends a transaction block.
	End bool
	// Ended on a Reply: with it a transaction ended: "commit", "rollback", or
	// empty. A data-changing statement outside a block ends as "commit".
	Ended string
	// InTransaction on a Reply: the connection is inside an open transaction.
	InTransaction bool
	// Write on a Reply: rows were changed.
	Write bool
	// Rows on a Reply: rows returned or changed; -1 when not told.
	Rows int64
	// Error on a Reply: the server's error, as "23505: duplicate key ...".
	Error string
	// Message on a broker's publish, delivery and ack.
	Message *Message
	// Backend is the server's own id of this connection (the Postgres backend
	// process id, the NATS client id), on the event that tells it; else 0.
	Backend uint64
	// Cancel: the connection carries a CancelRequest and is no traffic of the target.
	Cancel bool
}

// Message is what a broker carries. The slices belong to the event.
type Message struct {
	Subject string
	Reply   string
	Header  map[string][]string
	Data    []byte
	// Sequence is the broker's own position, when a delivery, an ack or a
	// publish acknowledgement tells it; else 0.
	Sequence uint64
	// Consumer is the name of the broker's consumer, when a delivery tells it.
	Consumer string
}
