package trial

import (
	"fmt"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// instance is one process of a role, through all its lives in a trial.
type instance struct {
	id   faults.Instance
	spec proc.Spec
	t    *trial
	// addresses are what it was told; the port is its own.
	addresses targets.Addresses
	port      *port // nil for the harness's own roles
	files     folder
	// ready tells when a life is up; within bounds how long that may take.
	ready  targets.Ready
	within time.Duration

	mu      sync.Mutex
	process *proc.Process
	calls   conversation // how the process is asked for orders; nil for other roles
	exits   int          // by itself, since it was last forgiven
	excused int          // those of them that do not count against it
	// condemned is set before a kill of ours, so that the death is not taken
	// for the process's own.
	condemned bool
	isUp      bool          // the current life is ready
	late      string        // how the current life is not ready in time; empty if it is, or may still be
	up        chan struct{} // closed while isUp
	dead      chan struct{} // closed when the end of the current life is recorded
	ending    string        // how the last life ended by itself
}

func newInstance(t *trial, id faults.Instance, spec proc.Spec) *instance {
	return &instance{id: id, spec: spec, t: t, up: make(chan struct{})}
}

// startError says that the program of an instance does not start.
type startError struct {
	id  faults.Instance
	err error
}

func (e *startError) Error() string { return fmt.Sprintf("start %s: %v", e.id, e.err) }
func (e *startError) Unwrap() error { return e.err }

// start begins a life of the instance. The watchers that it starts are waited
// for by the trial. The error is a [*startError] when the program is to blame, and a
// [*PortError] when the port is taken.
func (in *instance) start() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.process != nil {
		return nil
	}
	probe, err := in.makeWay()
	if err != nil {
		return fmt.Errorf("start %s: %w", in.id, err)
	}
	in.t.rec.add(properties.Event{Kind: properties.KindProcess, Process: &properties.Process{Instance: in.id.String(), What: "started"}})
	spec := in.spec
	spec.Watch = probe.line()
	p, err := proc.Start(in.t.ctx, spec)
	if err != nil {
		in.t.rec.add(properties.Event{Kind: properties.KindProcess, Process: &properties.Process{Instance: in.id.String(), What: "failed to start", Status: err.Error()}})
		return &startError{in.id, err}
	}
	in.process = p
	in.condemned = false
	in.dead = make(chan struct{})
	in.calls = in.t.converse(in, p)
	dead := in.dead
	in.t.watchers.Go(func() { in.watch(p, probe, dead) })
	if probe == nil {
		in.isUp = true
		close(in.up)
	} else {
		in.t.watchers.Go(func() { in.await(p, probe) })
	}
	return nil
}

// makeWay prepares a life: its files, its port, and what tells that it is up.
func (in *instance) makeWay() (*probe, error) {
	if err := in.files.write(); err != nil {
		return nil, err
	}
	if in.port != nil {
		if err := in.port.vacate(); err != nil {
			return nil, in.blamePort(err)
		}
	}
	return newProbe(in.ready, in.addresses.Port)
}

// watch waits for the end of one life.
func (in *instance) watch(p *proc.Process, probe *probe, dead chan struct{}) {
	defer close(dead)
	<-p.Done()
	in.mu.Lock()
	condemned := in.condemned
	in.process = nil
	in.ending = p.State().String()
	if !in.isUp && probe != nil {
		in.ending += ", before it was ready: it was waited for " + in.hide(waitedFor(probe))
	}
	if in.isUp {
		in.up = make(chan struct{})
	}
	in.isUp, in.late = false, ""
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

// backoff is how long a supervisor waits before it starts the instance again
// after it exited by itself: longer every time, as supervisors do.
func (in *instance) backoff() time.Duration {
	in.mu.Lock()
	defer in.mu.Unlock()
	return min(time.Duration(in.exits)*20*time.Millisecond, time.Second)
}

// exited is how often the instance has exited by itself since it was forgiven,
// without the exits that were excused.
func (in *instance) exited() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.exits - in.excused
}

// excuse lets the last exit not count.
func (in *instance) excuse() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.excused++
}

// forgive forgets the instance's own exits: what comes is another segment.
func (in *instance) forgive() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.exits, in.excused = 0, 0
}
