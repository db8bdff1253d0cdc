package proc

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync"
)

// boundedLog keeps the first and the last part of an output. The first goes to
// the file at once, so that it is there when we are killed; the last is kept in
// a ring and written at the end.
type boundedLog struct {
	mu      sync.Mutex
	file    *os.File // nil keeps the tail only
	redact  redactor
	head    int64 // bytes the head may still take
	midline bool  // the file does not end at the end of a line
	ring    []byte
	max     int
	start   int // where the oldest byte of a full ring is
	lost    int64
	err     error
	recent  []byte // the end of what went to the head, for Tail
}

func openLog(path string, size int64, secrets []string) (*boundedLog, error) {
	if size <= 0 {
		size = DefaultMaxLog
	}
	half := max(size/2, 1)
	l := &boundedLog{head: size - half, max: int(half), redact: newRedactor(secrets)}
	if path == "" {
		l.head = 0
		return l, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open its log: %w", err)
	}
	l.file = f
	return l, nil
}

// Write never fails: an output is read to its end whatever becomes of its log.
func (l *boundedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(l.redact.push(p))
	return len(p), nil
}

func (l *boundedLog) keep(p []byte) {
	if n := min(l.head, int64(len(p))); n > 0 {
		l.toFile(p[:n])
		l.recent = lastOf(append(l.recent, p[:n]...), l.max)
		l.head -= n
		p = p[n:]
	}
	if len(p) == 0 {
		return
	}
	if over := len(p) - l.max; over > 0 {
		l.lost += int64(len(l.ring) + over)
		l.ring, l.start = append(l.ring[:0], p[over:]...), 0
		return
	}
	grow := min(l.max-len(l.ring), len(p))
	l.ring = append(l.ring, p[:grow]...)
	for p = p[grow:]; len(p) > 0; {
		n := copy(l.ring[l.start:], p)
		l.start = (l.start + n) % l.max
		l.lost += int64(n)
		p = p[n:]
	}
}

func (l *boundedLog) toFile(p []byte) {
	if l.file == nil || len(p) == 0 {
		return
	}
	if _, err := l.file.Write(p); err != nil && l.err == nil {
		l.err = fmt.Errorf("write the log %s: %w", l.file.Name(), err)
	}
	l.midline = p[len(p)-1] != '\n'
}

func (l *boundedLog) tail() []byte {
	return slices.Concat(l.ring[l.start:], l.ring[:l.start])
}

// Tail is the end of what was written so far.
func (l *boundedLog) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost > 0 {
		return string(l.tail())
	}
	return string(lastOf(slices.Concat(l.recent, l.tail()), l.max))
}

// Close writes what was kept of the end.
func (l *boundedLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(l.redact.flush())
	if l.file == nil {
		return nil
	}
	end := l.tail()
	if l.lost > 0 {
		// Begin at a line, unless the whole end is one.
		if i := bytes.IndexByte(end, '\n'); i >= 0 && i < len(end)-1 {
			l.lost += int64(i + 1)
			end = end[i+1:]
		}
		if l.midline {
			l.toFile([]byte{'\n'})
		}
		l.toFile(fmt.Appendf(nil, "... %d bytes left out ...\n", l.lost))
	}
	l.toFile(end)
	if err := l.file.Close(); err != nil && l.err == nil {
		l.err = fmt.Errorf("close the log %s: %w", l.file.Name(), err)
	}
	l.file = nil
	return l.err
}

func lastOf(p []byte, n int) []byte {
	if len(p) > n {
		return append([]byte(nil), p[len(p)-n:]...)
	}
	return p
}
