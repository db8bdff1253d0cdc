package proc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"sync"
)

// What may wait unread before the process's writes block.
const (
	maxWaitingLines = 4096
	maxWaitingBytes = 1 << 20
)

// Line is one line of a process's standard output.
type Line struct {
	// Text is the line without its end.
	Text string
	// Cut is set when the line was longer than MaxLine and Text is its beginning.
	Cut bool
}

// ReadLine returns the next line of standard output, when [Spec.Stdout] asked
// for it, waiting for it if need be. Lines written before the process ended can
// be read afterwards; then comes io.EOF. The error is the context's when that
// ends first. While about a mebibyte waits unread the process blocks on its next
// write, as behind any pipe.
func (p *Process) ReadLine(ctx context.Context) (Line, error) {
	if p.lines == nil {
		return Line{}, errors.New("read a line of " + p.name + ": its Spec did not ask for Stdout")
	}
	return p.lines.next(ctx)
}

// Lines returns the lines of standard output as they come, to the process's end,
// for a loop in a goroutine of its own. It takes them from the same queue as
// ReadLine.
func (p *Process) Lines() iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			line, err := p.ReadLine(context.Background())
			if err != nil || !yield(line.Text) {
				return
			}
		}
	}
}

// lineQueue is between the goroutine that empties the pipe and the caller. It
// is bounded while the process lives; when it has ended what is left is no more
// than a pipe holds, and the bound falls so that the goroutine always ends.
type lineQueue struct {
	mu      sync.Mutex
	waiting []Line
	bytes   int
	free    bool // no bound any more
	closed  bool
	changed chan struct{} // closed and made anew at every change
}

func newLineQueue() *lineQueue {
	return &lineQueue{changed: make(chan struct{})}
}

// signal wakes all who wait; the caller holds the lock.
func (q *lineQueue) signal() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// fill reads lines until the pipe ends. watch, if any, is told of each.
func (q *lineQueue) fill(r io.Reader, watch func(string)) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		if err == nil || line.Text != "" {
			if watch != nil {
				watch(line.Text)
			}
			q.put(line)
		}
		if err != nil {
			break
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *lineQueue) put(line Line) {
	q.mu.Lock()
	for !q.free && len(q.waiting) > 0 && (len(q.waiting) >= maxWaitingLines || q.bytes+len(line.Text) > maxWaitingBytes) {
		changed := q.changed
		q.mu.Unlock()
		<-changed
		q.mu.Lock()
	}
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, line)
	q.bytes += len(line.Text)
	q.signal()
}

func (q *lineQueue) unbound() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free = true
	q.signal()
}

func (q *lineQueue) next(ctx context.Context) (Line, error) {
	for {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			line := q.waiting[0]
			q.waiting[0] = Line{}
			q.waiting = q.waiting[1:]
			q.bytes -= len(line.Text)
			q.signal()
			q.mu.Unlock()
			return line, nil
		}
		closed, changed := q.closed, q.changed
		q.mu.Unlock()
		if closed {
			return Line{}, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Line{}, ctx.Err()
		}
	}
}

// readLine reads to the end of a line and keeps at most MaxLine bytes of it.
func readLine(in *bufio.Reader) (Line, error) {
	var text []byte
	cut := false
	for {
		part, err := in.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
		}
		if room := MaxLine - len(text); len(part) > room {
			part, cut = part[:room], true
		}
		text = append(text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			if err == nil && !cut && len(text) > 0 && text[len(text)-1] == '\r' {
				text = text[:len(text)-1]
			}
			return Line{Text: string(text), Cut: cut}, err
		}
	}
}
