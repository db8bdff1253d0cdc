package proc

import (
	"fmt"
	"os"
)

// pipes are the pipes between us and one process. Plain pipes instead of
// exec.Cmd's own, so that reading can go on after the process was reaped and
// can be ended by a deadline when something escaped with the other end.
type pipes struct {
	output, lines *os.File   // our ends, to read
	input         *os.File   // our end, to write
	theirs        []*os.File // the process's ends
}

// connect makes the pipes that the spec asks for and hands them to the command.
func (p *Process) connect(s Spec) (*pipes, error) {
	all := &pipes{}
	read := func() (*os.File, *os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			all.close()
			return nil, nil, fmt.Errorf("make a pipe: %w", err)
		}
		return r, w, nil
	}
	r, w, err := read()
	if err != nil {
		return nil, err
	}
	all.output, all.theirs = r, append(all.theirs, w)
	p.cmd.Stderr = w
	p.cmd.Stdout = w
	if s.Stdout {
		if r, w, err = read(); err != nil {
			return nil, err
		}
		all.lines, all.theirs = r, append(all.theirs, w)
		p.cmd.Stdout = w
		p.lines = newLineQueue()
	}
	if s.Stdin {
		if r, w, err = read(); err != nil {
			return nil, err
		}
		all.input, all.theirs = w, append(all.theirs, r)
		p.cmd.Stdin = r
		p.stdin = w
	}
	return all, nil
}

func (a *pipes) closeTheirs() {
	for _, f := range a.theirs {
		_ = f.Close()
	}
	a.theirs = nil
}

func (a *pipes) closeOurs() {
	for _, f := range []*os.File{a.output, a.lines, a.input} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (a *pipes) close() {
	a.closeTheirs()
	a.closeOurs()
}
