package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// readyTurn is how often the time that a start takes is counted.
const readyTurn = 50 * time.Millisecond

// arrive waits until the process is up, and reports whether it is: not when it, or
// the context, ends first. late, if any, is called once when the time within is
// spent, and the wait goes on. Time in which the harness stood still does not count:
// the process may have stood still, too.
func (p *probe) arrive(ctx context.Context, process *proc.Process, within time.Duration, late func()) bool {
	ctx, cancel := context.WithCancel(ctx)
	up := make(chan struct{})
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	looking.Go(func() {
		if p.await(ctx) == nil {
			close(up)
		}
	})
	ticker := time.NewTicker(readyTurn)
	defer ticker.Stop()
	begin := time.Now()
	var turns properties.Turns
	var counted, last time.Duration
	for {
		select {
		case <-up:
			return true
		case <-process.Done():
			return false
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		now := time.Since(begin)
		if _, stood := turns.Turn(now); !stood {
			counted += now - last
		}
		last = now
		if late != nil && counted > within {
			late()
			late = nil
		}
	}
}

// waitedFor says what is waited for, and what was seen instead.
func waitedFor(p *probe) string {
	text := p.what()
	if seen := p.seen(); seen != "" {
		text += "; last seen: " + seen
	}
	return text
}

// await follows a life until it is ready or over.
func (in *instance) await(p *proc.Process, probe *probe) {
	if !probe.arrive(in.t.ctx, p, in.within, func() { in.overdue(p, probe) }) {
		return
	}
	in.mu.Lock()
	if in.process == p && !in.condemned {
		in.t.rec.add(properties.Event{Kind: properties.KindProcess, Process: &properties.Process{Instance: in.id.String(), What: "ready"}})
		in.isUp, in.late = true, ""
		close(in.up)
	}
	in.mu.Unlock()
	in.t.warden.hurt() // what is promised counts from here
}

// overdue notes a life that is not ready in time. It goes on, and may still be. In
// a trial with faults that is for the wait for the outbox to look into; without one
// there is nothing to learn from such a target.
func (in *instance) overdue(p *proc.Process, probe *probe) {
	text := fmt.Sprintf("was not ready within %v: waited for %s", in.within, in.hide(waitedFor(probe)))
	in.mu.Lock()
	current := in.process == p && !in.condemned
	if current {
		in.late = text
	}
	in.mu.Unlock()
	if !current {
		return
	}
	if !in.t.faulted() {
		in.t.warden.fail(&TargetError{Stage: StageReady, Instance: in.id.String(), What: text, Mend: fmt.Sprintf(
			"see that it comes up and that %s.ready in the manifest says how that shows, or raise %s.ready-within", in.id.Role, in.id.Role), Log: in.tail()})
		return
	}
	in.t.job.log.Info("an instance is not ready in time", "instance", in.id, "why", text)
	in.t.warden.hurt()
}

// hide leaves out what an answer may tell of the passwords.
func (in *instance) hide(text string) string { return hide(text, in.spec.Secrets) }

func hide(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// starting reports whether the instance has a process that may yet be ready in
// time.
func (in *instance) starting() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.process != nil && !in.isUp && in.late == ""
}

// lateness says how the instance was not ready in time; empty when it is, or may
// still be.
func (in *instance) lateness() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.late
}

// settled reports whether there is nothing to wait for at the start of a trial:
// the instance is ready, or late, or there is no way to tell.
func (in *instance) settled() bool {
	if in.ready == (targets.Ready{}) {
		return true
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.isUp || in.late != ""
}

// usurped tells of whoever listens on the instance's port when its process has
// ended: that may be why.
func (in *instance) usurped() error {
	if in.port == nil || in.running() {
		return nil
	}
	return in.blamePort(in.port.stranger())
}

// ended says how the last life ended by itself.
func (in *instance) ended() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ending
}

// blamePort names the instance in a [*PortError].
func (in *instance) blamePort(err error) error {
	var taken *PortError
	if errors.As(err, &taken) {
		taken.Instance = in.id.String()
	}
	return err
}

// anyStarting reports whether an instance may yet be ready in time.
func (t *trial) anyStarting() bool {
	for _, in := range t.order {
		if in.starting() {
			return true
		}
	}
	return false
}

// isLate reports whether an instance of a role was not ready in time, and is not
// yet.
func (t *trial) isLate(role string) bool {
	return slices.ContainsFunc(t.order, func(in *instance) bool { return in.id.Role == role && in.lateness() != "" })
}

// late says which instances were not ready in time, and how, as an addition to
// something else; empty when none.
func (t *trial) late() string {
	text := ""
	for _, in := range t.order {
		if late := in.lateness(); late != "" {
			text += "; " + in.id.String() + " " + late
		}
	}
	return text
}

// startBudget is the longest time that an instance may take to be ready, in each of
// its lives; 0 when there is nothing to wait for.
func (t *trial) startBudget() time.Duration {
	longest := time.Duration(0)
	for _, in := range t.order {
		if in.ready != (targets.Ready{}) {
			longest = max(longest, in.within)
		}
	}
	return longest
}

// awaitReady waits until the instances that were started are ready, each as long
// as it may take for that, and faults may strike them meanwhile: before that nobody
// would ask them for anything.
func (t *trial) awaitReady(ctx context.Context, match func(role string) bool) error {
	for _, in := range t.order {
		for match(in.id.Role) && !in.settled() {
			change := t.rec.wait()
			if in.settled() {
				break
			}
			if _, _, failure := t.warden.health(); failure != nil {
				return failure
			}
			if t.warden.lost() != "" {
				return nil // the wait for the outbox tells
			}
			if err := pace(ctx, change); err != nil {
				return err
			}
		}
	}
	if _, _, failure := t.warden.health(); failure != nil {
		return failure
	}
	return nil
}
