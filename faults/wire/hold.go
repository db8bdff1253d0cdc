package wire

import (
	"sync"

	"github.com/outboxtest/outboxtest/faults"
)

// NextHold keeps back one request that no fault of the scenario names: the next
// one of a label on a link. It serves workloads whose transactions overlap.
type NextHold struct {
	board *Board
	fault *armed
	held  chan struct{}
	once  sync.Once
}

// HoldNext keeps back the next request with the label on the link, from its
// moment before until Release. Only that connection waits. The caller knows
// that no such request is under way.
func (b *Board) HoldNext(name faults.Link, label string) *NextHold {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 1
	if l := b.links[name]; l != nil {
		n = l.tally.link.of(label).peek()
	}
	point := faults.Point{Link: name, Label: label, N: n, Moment: faults.Before}
	h := &NextHold{board: b, held: make(chan struct{})}
	h.fault = &armed{index: -1, fault: faults.Fault{At: &point, Do: faults.Hold}, state: StateArmed, silent: h.caught}
	b.watches[label] = append(b.watches[label], &watch{fault: h.fault, use: useAt, point: point})
	return h
}

// caught runs under the board's lock.
func (h *NextHold) caught() { h.once.Do(func() { close(h.held) }) }

// Held returns a channel that is closed when the request is at the proxy.
func (h *NextHold) Held() <-chan struct{} { return h.held }

// Release lets the request go on, or keeps none when none came. Releasing
// twice is harmless.
func (h *NextHold) Release() {
	b := h.board
	b.mu.Lock()
	defer b.mu.Unlock()
	switch h.fault.state {
	case StateArmed:
		h.fault.state = StateDisarmed
	case StateFired, striking:
		h.fault.state = StateHealed
	}
	b.changed()
	b.rouse()
}
