package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/faults/proc"
)

// request is one line to an app that speaks the stdio protocol (docs/stdio.md).
type request struct {
	ID       int    `json:"id"`
	Op       string `json:"op"`
	Order    string `json:"order"`
	Customer string `json:"customer,omitempty"`
}

// response is one line from it.
type response struct {
	ID    int    `json:"id"`
	OK    *bool  `json:"ok"`
	Error string `json:"error,omitempty"`
}

// calls is the conversation with one life of an app. Answers may come in any
// order. Whoever made it closes it when the process has died: what was not
// answered then stays unknown.
type calls struct {
	process *proc.Process

	mu      sync.Mutex
	next    int
	waiting map[int]chan response
	closed  bool
	done    chan struct{}
}

func newCalls(p *proc.Process) *calls {
	c := &calls{process: p, waiting: map[int]chan response{}, done: make(chan struct{})}
	go c.listen()
	return c
}

// listen ends when the process has closed its output.
func (c *calls) listen() {
	defer close(c.done)
	defer c.forsake()
	for {
		line, err := c.process.ReadLine(context.Background())
		if err != nil {
			return
		}
		var r response
		if err := json.Unmarshal([]byte(line.Text), &r); err != nil || r.OK == nil {
			continue // not an answer: an app may print other things
		}
		c.mu.Lock()
		ch := c.waiting[r.ID]
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- r
		}
	}
}

// ask sends one request. The channel yields the answer, or is closed when the
// process died first.
func (c *calls) ask(op, order, customer string) (<-chan response, error) {
	ch := make(chan response, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		close(ch)
		return ch, nil
	}
	c.next++
	r := request{ID: c.next, Op: op, Order: order, Customer: customer}
	c.waiting[r.ID] = ch
	c.mu.Unlock()
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write the request for order %s: %w", order, err)
	}
	// A failed write means that the process is dying: close tells.
	_, _ = c.process.Stdin().Write(append(line, '\n'))
	return ch, nil
}

// close waits until the answers that the process wrote before it died were
// read; the calls that still wait have ended then.
func (c *calls) close() { <-c.done }

// forsake ends every call that waits: nothing more will be answered.
func (c *calls) forsake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for id, ch := range c.waiting {
		close(ch)
		delete(c.waiting, id)
	}
}

// deaf reports whether the process has closed its output and lives on: a dying
// one closes it, too, shortly before it is dead.
func (c *calls) deaf() bool {
	const dying = 5 * time.Second
	timer := time.NewTimer(dying)
	defer timer.Stop()
	select {
	case <-c.process.Done():
		return false
	case <-timer.C:
		return true
	}
}
