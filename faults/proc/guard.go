package proc

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// guardPatience bounds the start of the guard.
const guardPatience = 20 * time.Second

// order is one line from the harness to its guard.
type order struct {
	Do   string `json:"do"` // begin, group, forget, undo, release
	PID  int    `json:"pid,omitempty"`
	Born uint64 `json:"born,omitempty"`
	ID   int    `json:"id,omitempty"`
	Kind string `json:"kind,omitempty"`
	Arg  string `json:"arg,omitempty"`
}

// answer is one line from the guard to its harness.
type answer struct {
	Ready bool     `json:"ready,omitempty"`
	Kinds []string `json:"kinds,omitempty"`
	Error string   `json:"error,omitempty"`
}

// Guard is the process that outlives us: it kills what was started with it and
// undoes what was registered with it when we end, however we end.
type Guard struct {
	token string
	kinds []string
	cmd   *exec.Cmd
	died  chan struct{} // closed when it ended without being asked to
	ended chan struct{} // closed when it ended
	close sync.Once

	mu       sync.Mutex
	pipe     *os.File
	closing  bool
	next     int
	problems []error
}

// StartGuard starts our own binary again as the guard; in that process env must
// lead to [GuardMain] on standard input and output. The guard's environment is
// ours and env. The context bounds the start only. Close ends the guard.
func StartGuard(ctx context.Context, exe string, env []string) (*Guard, error) {
	g, err := startGuard(ctx, exe, env)
	if err != nil {
		return nil, fmt.Errorf("start the guard %s: %w", exe, err)
	}
	return g, nil
}

func startGuard(ctx context.Context, exe string, env []string) (*Guard, error) {
	if os.Getenv(guardVariable) != "" {
		// Without this a main function that ignores its role would start guards
		// without end.
		return nil, errors.New("this process was itself started as a guard, and its main function went on: " +
			"call the guard's main function first, in a test binary from TestMain")
	}
	in, pipe, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	answers, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), in.Close(), pipe.Close())
	}
	g := &Guard{
		token: rand.Text(), pipe: pipe, cmd: exec.Command(exe),
		died: make(chan struct{}), ended: make(chan struct{}),
	}
	g.cmd.Stdin, g.cmd.Stdout, g.cmd.Stderr = in, out, os.Stderr
	// Not the tokens: a guard is never to be killed by another run's.
	g.cmd.Env = append(append(slices.DeleteFunc(os.Environ(), isToken), guardVariable+"=1"), env...)
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = g.cmd.Start()
	_, _ = in.Close(), out.Close()
	if err != nil {
		return nil, errors.Join(err, pipe.Close(), answers.Close())
	}
	ready := make(chan error, 1)
	go g.follow(answers, ready)

	ctx, cancel := context.WithTimeout(ctx, guardPatience)
	defer cancel()
	if err = g.send(order{Do: "begin", Arg: g.token}); err == nil {
		select {
		case err = <-ready:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		g.abandon()
		return nil, err
	}
	return g, nil
}

// follow owns the guard's process: it reads its answers and waits for its end.
func (g *Guard) follow(answers *os.File, ready chan<- error) {
	in := bufio.NewScanner(answers)
	in.Buffer(nil, MaxLine)
	first := true
	for in.Scan() {
		var a answer
		err := json.Unmarshal(in.Bytes(), &a)
		switch {
		case first && (err != nil || !a.Ready):
			ready <- fmt.Errorf("it said %.80q instead of being ready: "+
				"its environment must lead to the guard's main function, in a test binary by a TestMain", in.Text())
			// It is some other program that knows nothing of our pipe.
			_ = g.cmd.Process.Kill()
		case first:
			g.kinds = a.Kinds
			ready <- nil
		case err == nil && a.Error != "":
			g.mu.Lock()
			g.problems = append(g.problems, errors.New(a.Error))
			g.mu.Unlock()
		}
		first = false
	}
	_ = answers.Close()
	end := g.cmd.Wait()
	if first {
		ready <- fmt.Errorf("it ended at once: %v", g.cmd.ProcessState)
	}
	g.mu.Lock()
	closing := g.closing
	if end != nil && closing {
		g.problems = append(g.problems, end)
	}
	g.mu.Unlock()
	if !closing {
		close(g.died)
	}
	close(g.ended)
}

// abandon ends a guard that did not come up.
func (g *Guard) abandon() {
	g.shut()
	_ = g.cmd.Process.Kill()
	<-g.ended
}

func (g *Guard) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing = true
	_ = g.pipe.Close()
}

// send hands the guard a line. What is in the pipe is read also after our death.
func (g *Guard) send(o order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("tell the guard to %s: %w", o.Do, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return fmt.Errorf("tell the guard to %s: it is closed", o.Do)
	}
	if _, err := g.pipe.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("tell the guard to %s: it is gone (%w)", o.Do, err)
	}
	return nil
}

func (g *Guard) register(pid int, born uint64) error {
	return g.send(order{Do: "group", PID: pid, Born: born})
}

func (g *Guard) forget(pid int) {
	// A guard that is gone or closing holds nothing against the group any more.
	_ = g.send(order{Do: "forget", PID: pid})
}

// Undo registers what is to be undone at our end: kind names a function that
// the guard's process has in its table, arg is its argument and may hold secrets.
// Call it before making the thing. The function returned takes it back, once the
// thing is gone; it may be called more than once.
func (g *Guard) Undo(kind, arg string) (release func(), err error) {
	if !slices.Contains(g.kinds, kind) {
		return nil, fmt.Errorf("register an undo: the guard does not know how to %q (it knows %q)", kind, g.kinds)
	}
	g.mu.Lock()
	g.next++
	id := g.next
	g.mu.Unlock()
	if err := g.send(order{Do: "undo", ID: id, Kind: kind, Arg: arg}); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { _ = g.send(order{Do: "release", ID: id}) }), nil
}

// Token is this run's random token: every process started with this guard has
// it in its environment, as OUTBOXTEST_RUN=token.
func (g *Guard) Token() string { return g.token }

// Done is closed when the guard ended without being asked to. Then nothing
// cleans up after a kill -9 of ours.
func (g *Guard) Done() <-chan struct{} { return g.died }

// Close has the guard kill and undo what is still registered, waits for its end,
// and returns what it could not do. Calling it again returns the same.
func (g *Guard) Close() error {
	g.close.Do(g.shut)
	<-g.ended
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.problems...)
}
