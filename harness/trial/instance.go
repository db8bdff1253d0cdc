package trial

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/properties"
)

// instance is one process of a role, through all its lives in a trial.
type instance struct {
	id   faults.Instance
	spec proc.Spec
	t    *trial

	mu      sync.Mutex
	process *proc.Process
	calls   *calls // the stdio conversation with the process; nil for other roles
	exits   int    // by itself, since it was last forgiven
	// condemned is set before a kill of ours, so that the death is not taken
	// for the process's own.
	condemned bool
	up        chan struct{} // closed while a process runs
	dead      chan struct{} // closed when the end of the current life is recorded
}

func newInstance(t *trial, id faults.Instance, spec proc.Spec) *instance {
	return &instance{id: id, spec: spec, t: t, up: make(chan struct{})}
}

// start begins a life of the instance. The watcher that it starts is waited
// for by the trial.
func (in *instance) start() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.process != nil {
		return nil
	}
	in.t.rec.add(properties.Event{Kind: properties.KindProcess, Process: &properties.Process{Instance: in.id.String(), What: "started"}})
	p, err := proc.Start(in.t.ctx, in.spec)
	if err != nil {
		in.t.rec.add(properties.Event{Kind: properties.KindProcess, Process: &properties.Process{Instance: in.id.String(), What: "failed to start", Status: err.Error()}})
		return fmt.Errorf("start %s: %w", in.id, err)
	}
	in.process = p
	in.condemned = false
	in.dead = make(chan struct{})
	if in.spec.Stdin {
		in.calls = newCalls(p)
	}
	close(in.up)
	dead := in.dead
	in.t.watchers.Go(func() { in.watch(p, dead) })
	return nil
}

// watch waits for the end of one life.
func (in *instance) watch(p *proc.Process, dead chan struct{}) {
	defer close(dead)
	<-p.Done()
	in.mu.Lock()
	condemned := in.condemned
	in.process = nil
	in.up = make(chan struct{})
	calls := in.calls
	in.calls = nil
	if !condemned {
		in.exits++
	}
	in.mu.Unlock()
	if calls != nil {
		calls.close()
	}
	what := properties.Process{Instance: in.id.String(), What: "exited", Status: p.State().String()}
	if condemned {
		what.What = "killed"
	}
	in.t.rec.add(properties.Event{Kind: properties.KindProcess, Process: &what})
	if !condemned {
		// A process can leave children behind that hold its connections.
		_ = p.Kill()
		in.t.exits <- in
	}
}

// kill sends SIGKILL to the process group and waits until the death has been
// recorded. It does nothing when no process runs.
func (in *instance) kill() error {
	in.mu.Lock()
	p, dead := in.process, in.dead
	in.condemned = true
	in.mu.Unlock()
	if p == nil {
		return nil
	}
	if err := p.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", in.id, err)
	}
	<-dead
	return nil
}

func (in *instance) running() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.process != nil
}

// conversation returns the stdio conversation with the running process, after
// recording the call that is about to be made, so that the process's death
// follows the call in the history; or a channel that is closed when there is a
// process to ask again for.
func (in *instance) conversation(called properties.Event) (*calls, <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.calls != nil {
		in.t.rec.add(called)
	}
	return in.calls, in.up
}

// backoff is how long a supervisor waits before it starts the instance again
// after it exited by itself: longer every time, as supervisors do.
func (in *instance) backoff() time.Duration {
	in.mu.Lock()
	defer in.mu.Unlock()
	return min(time.Duration(in.exits)*20*time.Millisecond, time.Second)
}

// tail is the end of the instance's log, for an error that a person reads.
func (in *instance) tail() string { return logTail(in.spec.Log) }

func logTail(path string) string {
	const most = 2000
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return "its log is empty"
	}
	if len(data) > most {
		data = data[len(data)-most:]
		if _, whole, ok := bytes.Cut(data, []byte("\n")); ok {
			data = whole
		}
	}
	return fmt.Sprintf("the end of its log (%s):\n%s", filepath.Base(path), data)
}

// exited is how often the instance has exited by itself since it was forgiven.
func (in *instance) exited() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.exits
}

// forgive forgets the instance's own exits: what comes is another segment.
func (in *instance) forgive() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.exits = 0
}
