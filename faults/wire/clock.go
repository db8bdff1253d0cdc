package wire

import "time"

// Start starts the clock of the faults that fire at a time: the workload
// begins. Starting twice is harmless.
func (b *Board) Start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started || b.closed {
		return
	}
	b.started = true
	b.startClocks()
}

// startClocks starts those that do not run yet.
func (b *Board) startClocks() {
	if !b.started || b.closed {
		return
	}
	for _, f := range b.faults {
		if f.fault.At == nil && f.state == StateArmed && f.timer == nil {
			b.timers.Add(1)
			f.timer = time.AfterFunc(f.fault.Clock, func() {
				defer b.timers.Done()
				b.ring(f)
			})
		}
	}
}

// ring fires a fault whose time has come.
func (b *Board) ring(f *armed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && f.state == StateArmed && b.strike(f, nil, nil) {
		b.tell(f)
	}
}
