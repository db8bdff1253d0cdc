package pgwire

import (
	"encoding/binary"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// replication is what a connection in CopyBoth mode has carried.
type replication struct {
	// unconfirmed: the server has sent data since the client last confirmed a
	// position.
	unconfirmed bool
	confirmed   uint64
}

// replicated reads a message of the server in CopyBoth mode: WAL data, or a
// keepalive, which tells how far the server has read and changes nothing.
func (c *Conversation) replicated(body []byte) (event frame.Event, ok bool) {
	switch body[0] {
	case 'w':
		c.unconfirmed = true
		return frame.Event{Kind: frame.Push, Label: "xlogdata"}, true
	case 'k':
		return frame.Event{Kind: frame.Push, Label: "keepalive", Idle: true}, true
	}
	return frame.Event{}, false
}

// status reads a standby status update: 'r', then the positions that were written,
// flushed and applied, 8 bytes each ("Streaming Replication Protocol"). What was
// flushed the server may forget. The update is idle when it says nothing new, or
// only that there was no data on the way to its position: a client repeats it to
// show that it lives, and follows the keepalives of an idle server.
func (c *Conversation) status(body []byte) frame.Event {
	const flushed, end = 9, 17
	event := frame.Event{Kind: frame.OneWay, Label: "status", Idle: true}
	if len(body) < end {
		return event
	}
	if position := binary.BigEndian.Uint64(body[flushed:end]); position > c.confirmed {
		event.Idle = !c.unconfirmed
		c.confirmed, c.unconfirmed = position, false
	}
	return event
}
