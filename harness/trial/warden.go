package trial

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/properties"
)

// How long a fault stays in force that does not end by itself. They pace the
// trial; no verdict depends on them, because the drain counts from the last
// heal.
const (
	hangTime   = 250 * time.Millisecond
	lingerTime = 150 * time.Millisecond
	neverTime  = 250 * time.Millisecond
	// maxExits ends the restarts of an instance that keeps exiting by itself.
	maxExits = 20
)

// warden reacts to what happens to the instances: it kills when a fault fires,
// restarts, and heals. It is the only one that starts an instance again.
type warden struct {
	t *trial

	mu       sync.Mutex
	inForce  map[int]faults.Fault // fired and not yet healed
	fired    map[int]bool
	down     int       // instances that are dead and to be restarted
	lastHurt time.Time // the last time that anything was not healthy
	failure  error     // the trial cannot go on
	gaveUp   string    // why an instance could not be kept running; empty when all can
	timers   sync.WaitGroup
	// gone waits until Postgres shows none of the backends.
	gone func(ctx context.Context, backends []uint64) error
}

func newWarden(t *trial) *warden {
	return &warden{t: t, inForce: map[int]faults.Fault{}, fired: map[int]bool{}, lastHurt: t.rec.clock(), gone: t.waitBackendsGone}
}

// run ends when ctx does: from then on nothing is struck and nothing started, though
// it was told of before, because the trial kills every process now. It owns the
// goroutines that wait for a heal.
func (w *warden) run(ctx context.Context) {
	defer w.timers.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-w.t.firings:
			if ctx.Err() == nil {
				w.strike(ctx, f)
			}
		case in := <-w.t.exits:
			if ctx.Err() == nil {
				w.revive(ctx, in)
			}
		}
	}
}

// noteFired runs under the board's lock, before anybody can see the fault's
// consequences.
func (w *warden) noteFired(f wire.Firing) {
	w.mu.Lock()
	w.inForce[f.Index] = f.Fault
	w.fired[f.Index] = true
	w.lastHurt = w.t.rec.clock()
	w.mu.Unlock()
	w.t.rec.add(properties.Event{Kind: properties.KindFault, Fault: &properties.Fault{
		Index: f.Index, What: "fired", Text: f.Fault.String(), On: struck(f), Do: string(f.Fault.Do)}})
}

// over notes the end of a fault, once: it was healed, or a hold was released.
// It may run under the board's lock.
func (w *warden) over(f wire.Firing, what, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, inForce := w.inForce[f.Index]; !inForce {
		return
	}
	delete(w.inForce, f.Index)
	w.lastHurt = w.t.rec.clock()
	w.t.rec.add(properties.Event{Kind: properties.KindFault, Fault: &properties.Fault{
		Index: f.Index, What: what, Text: f.Fault.String(), Why: why, On: struck(f), Do: string(f.Fault.Do)}})
}

// struck names what a fault struck: the instance of a kill, else the link.
func struck(f wire.Firing) string {
	if f.Fault.Do == faults.Kill || f.Link.Server == "" {
		return f.Instance.String()
	}
	return f.Link.String()
}

func (w *warden) strike(ctx context.Context, f wire.Firing) {
	switch f.Fault.Do {
	case faults.Kill:
		w.kill(ctx, f)
	case faults.Cut:
		w.over(f, "healed", "")
	case faults.Hang:
		w.later(ctx, hangTime, func() {
			w.t.board.Heal(f.Index)
			w.over(f, "healed", "")
		})
	case faults.Hold:
		budget := 10 * w.t.promise().Time
		w.later(ctx, budget, func() {
			w.t.board.Heal(f.Index)
			w.over(f, "released", fmt.Sprintf("its point did not pass within the drain budget of %v", budget))
		})
	}
}

func (w *warden) kill(ctx context.Context, f wire.Firing) {
	in := w.t.instances[f.Instance]
	if in == nil {
		w.fail(fmt.Errorf("fault %s: the trial has no instance %s", f.Fault, f.Instance))
		return
	}
	if err := in.kill(); err != nil {
		w.fail(err)
		return
	}
	restart := f.Fault.Then.Restart
	backends := w.t.board.State(faults.Link{Instance: f.Instance, Server: faults.Postgres}).Backends
	w.t.board.Sever(f.Instance, restart == faults.BackendsLinger)
	if ctx.Err() != nil {
		return // it struck when the trial had come to its end
	}
	again := func() {
		if err := in.start(); err != nil {
			w.fail(err)
		}
	}
	switch restart {
	case faults.BackendsGone:
		err := w.gone(ctx, backends)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.fail(err)
		}
		again()
		w.over(f, "healed", "")
	case faults.BackendsLinger:
		again()
		w.later(ctx, lingerTime, func() {
			w.t.board.CloseLingering(f.Instance)
			w.over(f, "healed", "")
		})
	case faults.Never:
		w.later(ctx, neverTime, func() {
			again()
			w.over(f, "healed", "")
		})
	default:
		again()
		w.over(f, "healed", "")
	}
}

// revive starts an instance again that exited by itself, as a supervisor
// would. Without a planned fault an exit is the target's mistake, unless its limits
// say that it counts on that supervisor.
func (w *warden) revive(ctx context.Context, in *instance) {
	w.hurt()
	if err := in.usurped(); err != nil {
		w.fail(err)
		return
	}
	supervised := w.t.job.target.Limits.ExitsOnError
	if !w.t.faulted() && (!supervised || in.exited() > maxExits) {
		mend := ""
		if strings.HasPrefix(in.ended(), "exited with status 0") {
			mend = foreground // a daemon's first process ends like this
		}
		w.fail(&TargetError{Stage: StageExit, Instance: in.id.String(), What: "exited by itself, without a fault: it " + in.ended(), Mend: mend, Log: in.tail()})
		return
	}
	w.mu.Lock()
	w.down++
	if supervised && len(w.inForce) > 0 {
		in.excuse() // it says that it does so while a server fails it
	}
	if in.exited() > maxExits && w.gaveUp == "" {
		w.gaveUp = fmt.Sprintf("%s keeps exiting by itself, also after %d restarts; %s", in.id, maxExits, in.tail())
	}
	over := w.gaveUp != ""
	w.mu.Unlock()
	if over {
		return
	}
	w.later(ctx, in.backoff(), func() {
		if err := in.start(); err != nil {
			w.fail(err)
		}
		w.mu.Lock()
		w.down--
		w.lastHurt = w.t.rec.clock()
		w.mu.Unlock()
	})
}

// later runs f after d, unless the trial ends before.
func (w *warden) later(ctx context.Context, d time.Duration, f func()) {
	w.timers.Go(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			if ctx.Err() == nil {
				f()
			}
		case <-ctx.Done():
		}
	})
}

func (w *warden) fail(err error) {
	if err = w.t.look.postpone(err); err == nil {
		return
	}
	w.mu.Lock()
	if w.failure == nil {
		w.failure = err
	}
	w.mu.Unlock()
	w.t.rec.problem(err.Error())
}

func (w *warden) hurt() {
	w.mu.Lock()
	w.lastHurt = w.t.rec.clock()
	w.mu.Unlock()
}

// health tells since when everything has been healed and running, and whether
// it is so now. What may yet be ready in time is not healthy; what is late is no
// different from what is up and does nothing.
func (w *warden) health() (since time.Time, now bool, failure error) {
	starting := w.t.anyStarting()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastHurt, len(w.inForce) == 0 && w.down == 0 && !starting, w.failure
}

// lost tells why an instance is not restarted any more; empty when none is.
func (w *warden) lost() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gaveUp
}

// struck reports whether a fault has struck yet.
func (w *warden) struck() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.fired) > 0
}

// hurting reports whether a fault is in force on the instance, so that waiting
// for it is in vain.
func (w *warden) hurting(id faults.Instance) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.inForce {
		if f.Instance().Matches(id) {
			return true
		}
	}
	return false
}
