package pgwire

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// rememberAtMost bounds the statements and the portals that a conversation
// remembers; a client with more loses some labels, not memory.
const rememberAtMost = 1 << 14

// Conversation follows one PostgreSQL connection. The zero value is not ready:
// use [New].
//
// The slice that Read returns is good until the next Read of the same direction,
// so that a result set of a million rows costs no allocation.
type Conversation struct {
	exchanges uint64
	started   bool
	// asked counts the SSLRequests and GSSENCRequests that wait for their byte.
	asked int
	queue queue

	statements map[string]*Statement
	portals    map[string]portal

	// block: a transaction block is open, as far as the replies tell.
	block bool
	// wrote: the implicit transaction has changed rows.
	wrote bool
	// skipping: the server discards messages until a Sync, because of skipError.
	skipping  bool
	skipError string
	// copying is the exchange that last asked for COPY data; copyIn while the
	// server takes it.
	copying uint64
	copyIn  bool
	// streaming: the connection is in CopyBoth mode.
	streaming bool
	replication

	// The transaction as the requests tell it, to say at its end whether it
	// was idle.
	open        bool
	transaction uint64
	busy        bool

	repeats repeats
	// cut: the message under way is too long to be seen whole.
	cut bool

	labeller labeller
	scratch  [2][1]frame.Event
}

var _ frame.Conversation = (*Conversation)(nil)

// New returns the conversation of a fresh connection.
func New() *Conversation {
	return &Conversation{statements: map[string]*Statement{}, portals: map[string]portal{}}
}

// Read takes the meaning of one message. It fails only on what cannot belong
// to the protocol at all; a message that is merely odd is a part.
func (c *Conversation) Read(dir frame.Direction, f []byte) ([]frame.Event, error) {
	if dir == frame.FromClient {
		if len(f) > 0 && f[0] == 0 {
			return c.startup(f)
		}
		if len(f) < 5 {
			return nil, fmt.Errorf("postgres: a client's message of %d bytes", len(f))
		}
		c.cut = cutShort(f)
		return c.client(f[0], f[5:]), nil
	}
	if c.asked > 0 && len(f) == 1 {
		c.asked--
		return c.part(dir, 0), nil
	}
	if len(f) < 5 {
		return nil, fmt.Errorf("postgres: a server's message of %d bytes", len(f))
	}
	c.cut = cutShort(f)
	return c.server(f[0], f[5:]), nil
}

// part is the answer to a frame that neither starts nor ends an exchange.
func (c *Conversation) part(dir frame.Direction, exchange uint64) []frame.Event {
	return c.one(dir, frame.Event{Kind: frame.Part, Exchange: exchange})
}

// one is a single event, in the memory that the direction has for it.
func (c *Conversation) one(dir frame.Direction, e frame.Event) []frame.Event {
	s := &c.scratch[dir]
	s[0] = e
	return s[:1:1]
}

// alone numbers and labels a message without an answer.
func (c *Conversation) alone(dir frame.Direction, e frame.Event) []frame.Event {
	c.exchanges++
	e.Exchange = c.exchanges
	return c.one(dir, e)
}

// cutShort reports whether f is only the beginning of its message.
func cutShort(f []byte) bool { return uint64(binary.BigEndian.Uint32(f[1:]))+1 > uint64(len(f)) }

// portal is a statement and its parameters.
type portal struct {
	statement *Statement
	// asked is a hash of both, 0 when not known, or when the portal has been
	// executed: to go on with it is not to ask for the same.
	asked uint64
}

// remember keeps s under a name, within bounds.
func remember[T any](in map[string]T, name []byte, s T) {
	if _, known := in[string(name)]; !known && len(in) >= rememberAtMost {
		for k := range in {
			delete(in, k)
			break
		}
	}
	in[string(name)] = s
}

// cstring cuts a zero-terminated string off b; a missing zero is forgiven,
// because a long message is seen only in part.
func cstring(b []byte) (s, rest []byte) {
	s, rest, _ = bytes.Cut(b, []byte{0})
	return s, rest
}
