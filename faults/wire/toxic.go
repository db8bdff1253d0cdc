package wire

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// toxicType is the name of our toxic in Toxiproxy's registry.
const toxicType = "outboxtest"

// Toxiproxy makes toxics by reflection from a registry that is global to the
// process; there is no other way to bring one's own. The registration is the
// same for every board and is never changed.
func init() { toxics.Register(toxicType, new(toxic)) }

// chunkSize is the most that is handed over at once. Toxiproxy's writer takes
// a chunk of this size whole and asks for the next one when the socket has it.
const chunkSize = 32 << 10

// toxic is one direction of one link.
type toxic struct {
	link *link
	dir  frame.Direction
}

// NewState is called once for each connection of the proxy. Toxiproxy's accept
// loop starts the two directions of a connection one after the other, upstream
// first, before it accepts the next, so two calls in a row are one connection.
func (t *toxic) NewState() any { return t.link.attach(t.dir) }

// Pipe moves the bytes of one direction of one connection.
func (t *toxic) Pipe(stub *toxics.ToxicStub) { stub.State.(*half).run(stub) }

// delivery is what was let pass and is being handed over, outside the lock.
type delivery struct {
	bytes []byte
	chunk *stream.StreamChunk // the next one, when it is made
	// fires are told when the bytes are in the socket, which an empty chunk
	// behind them finds out.
	fires   []*armed
	flushed bool
	close   bool // the destination is closed afterwards
	full    bool // the source has to wait
	// last: nothing is kept behind it, and nothing follows unless the half is
	// woken or something arrives.
	last bool
}

// next returns the chunk to hand over next, nil when all is done.
func (d *delivery) next() *stream.StreamChunk {
	switch {
	case d.chunk != nil:
	case len(d.bytes) > 0:
		n := min(len(d.bytes), chunkSize)
		d.chunk = &stream.StreamChunk{Data: d.bytes[:n:n], Timestamp: time.Now()}
		d.bytes = d.bytes[n:]
	case len(d.fires) > 0 && !d.flushed:
		d.flushed = true
		d.chunk = &stream.StreamChunk{Data: []byte{}, Timestamp: time.Now()}
	}
	return d.chunk
}

// reuse hands the chunk over as it came when all of it passes.
func (d *delivery) reuse(c *stream.StreamChunk) {
	if len(d.bytes) > 0 && len(d.bytes) == len(c.Data) && &d.bytes[0] == &c.Data[0] {
		d.chunk, d.bytes = c, nil
	}
}

// run is the pipe of one direction. It never blocks where it could not be told
// that the connection is dead, and it takes what arrives while it hands over:
// otherwise a peer that has died could not be noticed, and toxiproxy's own
// goroutines would wait for ever. It ends when the source has ended and the
// destination was closed.
func (h *half) run(stub *toxics.ToxicStub) {
	mu, d := &h.conn.board.mu, &h.out
	in := stub.Input
	for {
		source := in
		if d.full {
			source = nil
		}
		var output chan<- *stream.StreamChunk
		var gone <-chan struct{}
		chunk := d.next()
		if chunk != nil {
			output, gone = stub.Output, h.other().gone
		}
		var arrived *stream.StreamChunk
		var ended, lost bool
		sent := offer(output, chunk)
		if !sent {
			select {
			case <-stub.Interrupt:
				return // resumed by another run, on the same half
			case output <- chunk:
				sent = true
			case arrived = <-source:
				ended = arrived == nil
			case <-gone:
				lost = true
			case <-h.wake:
			}
		}
		if sent {
			if d.chunk = nil; d.next() != nil || d.last {
				continue
			}
		}
		mu.Lock()
		if ended {
			in = nil
			h.finish()
		} else if arrived != nil {
			h.arrive(arrived.Data)
		}
		if chunk != nil && !sent && !lost && !h.hopeless() {
			d.full, d.last = h.full(), false
			mu.Unlock()
			continue
		}
		for _, f := range d.fires {
			h.conn.board.tell(f)
		}
		*d = h.step()
		mu.Unlock()
		if arrived != nil {
			d.reuse(arrived)
		}
		if d.close && d.next() == nil {
			stub.Close()
		}
		if in == nil && stub.Closed() {
			h.conn.left()
			return
		}
	}
}

// offer hands the chunk over if the writer waits for it, which it mostly does:
// that costs less than to wait for several things at once. It reports false
// when there is no chunk.
func offer(output chan<- *stream.StreamChunk, chunk *stream.StreamChunk) bool {
	select {
	case output <- chunk:
		return true
	default:
		return false
	}
}

// hopeless reports whether what is being handed over need not arrive.
func (h *half) hopeless() bool {
	return h.conn.board.closed || h.conn.severed && h.dir == frame.FromServer
}
