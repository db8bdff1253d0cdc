package trial

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
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
	waiting map[int]chan answer
	closed  bool
	done    chan struct{}
}

func newCalls(p *proc.Process) *calls {
	c := &calls{process: p, waiting: map[int]chan answer{}, done: make(chan struct{})}
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
			ch <- r.answer()
		}
	}
}

func (r response) answer() answer {
	if *r.OK {
		return answer{outcome: properties.OK}
	}
	return answer{outcome: properties.Failed, why: r.Error}
}

// open has nothing to open.
func (c *calls) open(context.Context) (line, error) { return c, nil }

// ask sends one request. The channel yields the answer, or is closed when the
// process died first.
func (c *calls) ask(op string, o scenario.Order) <-chan answer {
	ch := make(chan answer, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		close(ch)
		return ch
	}
	c.next++
	r := request{ID: c.next, Op: op, Order: o.Order, Customer: o.Customer}
	c.waiting[r.ID] = ch
	c.mu.Unlock()
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // three texts and a number always encode
	}
	// A failed write means that the process is dying: close tells.
	_, _ = c.process.Stdin().Write(append(text, '\n'))
	return ch
}

// hangUp has nothing to close.
func (c *calls) hangUp() {}

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
