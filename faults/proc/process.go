package proc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// killPatience is how long Kill waits for a death before it says that the
	// process does not die (it is stuck in the kernel).
	killPatience = 20 * time.Second
	// drainPatience is how long output is read after everything that is known to
	// hold it is dead. It is spent only when something escaped.
	drainPatience = 500 * time.Millisecond
	// wrapLeast is less than it takes a machine to use up its process numbers
	// and begin again from low ones: until then children have higher numbers
	// than their parents, and the rest of /proc need not be read.
	wrapLeast = 5 * time.Second
)

// State is how a process is, or how it ended.
type State struct {
	// Exited is set when it ended, however it ended.
	Exited bool
	// Code is the exit status; -1 when a signal ended it.
	Code int
	// Signal is the signal that ended it, as "killed"; empty when it exited.
	Signal string
	// Err is what went wrong in following the process; nil for any way to end.
	Err error
}

// String is a phrase: "is running", "exited with status 1", "was ended by killed".
func (s State) String() string {
	switch {
	case !s.Exited:
		return "is running"
	case s.Err != nil:
		return "ended: " + s.Err.Error()
	case s.Signal != "":
		return "was ended by the signal: " + s.Signal
	default:
		return fmt.Sprintf("exited with status %d", s.Code)
	}
}

// Process is one started process with its group. All methods may be called from
// several goroutines.
type Process struct {
	name  string
	token string
	pid   int
	born  uint64 // start time in kernel ticks, zero where unknown
	// started is just before the process was.
	started time.Time
	guard   *Guard
	tree    bool
	cmd     *exec.Cmd
	log     *boundedLog
	stdin   *os.File
	lines   *lineQueue
	watch   func(line string) // may be nil
	done    chan struct{}

	mu     sync.Mutex
	ended  bool // the leader is dead: its number is not ours to signal any more
	family []identity
	state  State
}

// Start starts a process in a group of its own. The context bounds the start
// only: the process runs until it ends or is killed, and whoever started it
// waits on Done or calls Kill.
func Start(ctx context.Context, s Spec) (*Process, error) {
	p, err := start(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	return p, nil
}

func start(ctx context.Context, s Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &Process{
		name: s.Name, token: rand.Text(), guard: s.Guard, tree: s.Tree, watch: s.Watch, done: make(chan struct{}),
	}
	env := s.environment(p.token)
	program, err := s.resolve(env)
	if err != nil {
		return nil, err
	}
	if p.log, err = openLog(s.Log, s.MaxLog, s.Secrets); err != nil {
		return nil, err
	}
	p.cmd = &exec.Cmd{Path: program, Args: s.Argv, Dir: s.Dir, Env: env}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.User != nil {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.User.UID, Gid: s.User.GID}
	}
	pipes, err := p.connect(s)
	if err != nil {
		return nil, errors.Join(err, p.log.Close())
	}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		pipes.close()
		return nil, errors.Join(err, p.log.Close())
	}
	pipes.closeTheirs()
	p.pid = p.cmd.Process.Pid
	p.born = startTime(p.pid)

	registered := error(nil)
	if p.guard != nil {
		registered = p.guard.register(p.pid, p.born)
	}
	go p.follow(pipes)
	if registered != nil {
		return nil, errors.Join(registered, p.Kill())
	}
	return p, nil
}

// follow owns the process: it waits for its end, ends what is left of it, and
// only then reaps the leader, because until then its number cannot be given to
// another process.
func (p *Process) follow(pipes *pipes) {
	var readers sync.WaitGroup
	readers.Go(func() { p.keep(pipes.output) })
	if p.lines != nil {
		readers.Go(func() { p.lines.fill(pipes.lines, p.watch) })
	}

	held := awaitExit(p.pid)
	p.mu.Lock()
	p.ended = true
	family := p.family
	p.mu.Unlock()
	if !held {
		_ = p.cmd.Wait()
	}
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	h := hunt{group: p.pid, marker: processVariable + "=" + p.token, since: p.born, family: family}
	if time.Since(p.started) < wrapLeast {
		h.least = p.pid
	}
	sweep(h)
	if p.guard != nil {
		p.guard.forget(p.pid)
	}
	if held {
		_ = p.cmd.Wait()
	}
	if p.lines != nil {
		p.lines.unbound()
	}
	deadline := time.Now().Add(drainPatience)
	_ = pipes.output.SetReadDeadline(deadline)
	if pipes.lines != nil {
		_ = pipes.lines.SetReadDeadline(deadline)
	}
	readers.Wait()
	pipes.closeOurs()

	state := stateOf(p.cmd.ProcessState)
	if err := p.log.Close(); err != nil {
		state.Err = err
	}
	p.mu.Lock()
	p.state = state
	p.mu.Unlock()
	close(p.done)
}

// keep reads an output into the log, to its end.
func (p *Process) keep(output io.Reader) {
	if p.watch == nil {
		_, _ = io.Copy(p.log, output)
		return
	}
	w := &lineWatch{tell: p.watch}
	// The log first: who has seen a line finds it there.
	_, _ = io.Copy(io.MultiWriter(p.log, w), output)
	w.end()
}

func stateOf(end *os.ProcessState) State {
	if end == nil {
		return State{Exited: true, Code: -1, Err: errors.New("its end was not seen")}
	}
	state := State{Exited: true, Code: end.ExitCode()}
	if status, ok := end.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		state.Signal = status.Signal().String()
	}
	return state
}

// Name is the name it was started under.
func (p *Process) Name() string { return p.name }

// Pid is the process's number, which is also its group's.
func (p *Process) Pid() int { return p.pid }

// Done is closed when the process has ended, the rest of its group is dead, and
// its output has been read and written to its log.
func (p *Process) Done() <-chan struct{} { return p.done }

// State is how the process is now. It is final once Done is closed.
func (p *Process) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Tail is the end of the process's output so far, at most half of
// [Spec.MaxLog], without its secrets.
func (p *Process) Tail() string { return p.log.Tail() }

// Kill sends SIGKILL to the group and returns when the process, its group and
// its stragglers are dead and reaped as far as they are ours. Killing a dead
// process does nothing. The error says that something does not die.
func (p *Process) Kill() error {
	p.mu.Lock()
	var refused error
	if !p.ended {
		if p.tree && p.family == nil {
			// Stopped, it makes no children while these are looked for.
			_ = syscall.Kill(-p.pid, syscall.SIGSTOP)
			p.family = descendants(p.pid)
		}
		// The leader is ours and not reaped, so the group is its group. Only its
		// end tells whether it is dead: some systems refuse to signal a group
		// of which nothing but a zombie is left.
		refused = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
	p.mu.Unlock()
	timer := time.NewTimer(killPatience)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("kill %s: process %d does not die within %v: %w", p.name, p.pid, killPatience,
			cmp.Or(refused, os.ErrDeadlineExceeded))
	}
}

// Signal sends a signal (SIGTERM, SIGSTOP, SIGCONT) to the group. It returns
// [os.ErrProcessDone] when the process has ended.
func (p *Process) Signal(signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return os.ErrProcessDone
	}
	if err := syscall.Kill(-p.pid, signal); err != nil {
		return fmt.Errorf("signal %s to %s: %w", signal, p.name, err)
	}
	return nil
}

// Stdin is the process's standard input, when [Spec.Stdin] asked for it, else
// nil. Closing it gives the process its end of file; it is closed in any case
// when the process has ended.
func (p *Process) Stdin() io.WriteCloser {
	if p.stdin == nil {
		return nil
	}
	return p.stdin
}
