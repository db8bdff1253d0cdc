package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/harness"
)

const (
	// statusEvery is how often the status line of a terminal is written again.
	statusEvery = 100 * time.Millisecond
	// plainEvery is how often a line is written where there is no terminal.
	plainEvery = 5 * time.Second
	// statusWidth keeps the status line on one line of a terminal.
	statusWidth = 79
)

// meter shows how far a run has come: on a terminal one line that is written
// again and again, elsewhere a plain line now and then.
type meter struct {
	mu    sync.Mutex
	w     io.Writer
	live  bool
	now   func() time.Time
	shown bool      // a status line stands on the terminal
	last  time.Time // when something was written

	target, phase string
	since         time.Time
}

func newMeter(w io.Writer, live bool) *meter {
	return &meter{w: w, live: live, now: time.Now, last: time.Now()}
}

// plainly gives up the status line: something else writes to the terminal too.
func (m *meter) plainly() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live = false
}

// of returns the callback that shows the progress of one target.
func (m *meter) of(target string) func(harness.Progress) {
	return func(p harness.Progress) { m.show(target, p) }
}

func (m *meter) show(target string, p harness.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if m.target != target || m.phase != p.Phase {
		m.target, m.phase, m.since = target, p.Phase, now
	}
	every := plainEvery
	if m.live {
		every = statusEvery
	}
	if now.Sub(m.last) < every {
		return
	}
	m.last = now
	text := progressText(target, p, now.Sub(m.since))
	if !m.live {
		fmt.Fprintln(m.w, text)
		return
	}
	if len(text) > statusWidth {
		text = text[:statusWidth]
	}
	// Back to the start of the line, and nothing of the old one stays.
	fmt.Fprint(m.w, "\r\x1b[2K"+text)
	m.shown = true
}

// clear takes the status line away, so that something else can be written.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown {
		fmt.Fprint(m.w, "\r\x1b[2K")
		m.shown = false
	}
}

func progressText(target string, p harness.Progress, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %d", target, p.Phase, p.Done)
	if p.Total > 0 {
		fmt.Fprintf(&b, "/%d", p.Total)
	}
	switch p.Violations {
	case 0:
	case 1:
		b.WriteString(", 1 violation")
	default:
		fmt.Fprintf(&b, ", %d violations", p.Violations)
	}
	if p.Undecided > 0 {
		fmt.Fprintf(&b, ", %d without a verdict", p.Undecided)
	}
	if took >= time.Second {
		fmt.Fprintf(&b, ", %.1f trials/s", float64(p.Done)/took.Seconds())
	}
	return b.String()
}
