package trial

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// guarded is a trial of one relay that runs and does nothing, and its warden. End
// stops them as a trial does.
func guarded(t *testing.T) (tr *trial, relay *instance, end func()) {
	t.Helper()
	tr = &trial{
		job: &Job{target: targets.Target{}, log: slog.New(slog.DiscardHandler)},
		ctx: t.Context(), rec: newRecorder(nil, false, time.Now), board: wire.New(wire.Options{}),
		instances: map[faults.Instance]*instance{}, firings: make(chan wire.Firing, 8), exits: make(chan *instance, 8),
	}
	tr.warden = newWarden(tr)
	tr.warden.gone = func(ctx context.Context, _ []uint64) error { return ctx.Err() }
	id := faults.Instance{Role: "relay"}
	relay = newInstance(tr, id, proc.Spec{Name: id.String(), Argv: []string{"sleep", "1000"}})
	tr.instances[id], tr.order = relay, []*instance{relay}
	if err := relay.start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	stop := tr.stopper(func() {
		cancel()
		running.Go(func() { tr.warden.run(ctx) }) // it may be only now that it has its turn
		running.Wait()
	})
	return tr, relay, func() {
		t.Helper()
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// killing is what the board tells of a kill that strikes the relay.
func killing(then faults.Restart) wire.Firing {
	id := faults.Instance{Role: "relay"}
	return wire.Firing{Instance: id, Fault: faults.Fault{
		At: &faults.Point{Link: faults.Link{Instance: id, Server: faults.Postgres}, Label: "commit", N: 1, Moment: faults.After},
		Do: faults.Kill, Then: faults.Then{Restart: then},
	}}
}

// afterwards tells what became of the relay and of the fault.
func afterwards(t *testing.T, tr *trial, relay *instance) (lives, healed int) {
	t.Helper()
	events, _ := tr.rec.history()
	fired, ends := 0, 0
	for _, e := range events {
		switch {
		case e.Kind == properties.KindProblem:
			t.Errorf("a problem: %s", e.Problem)
		case e.Process != nil && e.Process.What == "started":
			lives++
		case e.Process != nil:
			ends++
		case e.Fault != nil && e.Fault.What == "fired":
			fired++
		case e.Fault != nil && e.Fault.What == "healed":
			healed++
		}
	}
	if _, _, failure := tr.warden.health(); failure != nil {
		t.Errorf("the trial failed: %v", failure)
	}
	if relay.running() || ends != lives {
		t.Errorf("the relay was started %d times and ended %d times", lives, ends)
	}
	if fired != 1 {
		t.Errorf("the fault is told to have fired %d times", fired)
	}
	return lives, healed
}

// A kill that strikes when the trial is being stopped is on record as one that was
// not healed, and nothing is started any more: it would disturb a wait that is over.
func TestAKillAtTheVeryEndStartsNothing(t *testing.T) {
	for _, then := range []faults.Restart{faults.Immediately, faults.BackendsGone, faults.BackendsLinger, faults.Never} {
		t.Run(string(then), func(t *testing.T) {
			for range 20 { // whichever the warden sees first: the end, or the kill
				tr, relay, end := guarded(t)
				f := killing(then)
				tr.warden.noteFired(f)
				tr.firings <- f
				end()
				if lives, healed := afterwards(t, tr, relay); lives != 1 || healed != 0 {
					t.Fatalf("%d lives, healed %d times", lives, healed)
				}
			}
		})
	}
}

// The end may also come in the midst of a kill: while the process dies, or while the
// warden waits for what it left behind.
func TestTheEndInTheMidstOfAKill(t *testing.T) {
	for _, then := range []faults.Restart{faults.Immediately, faults.BackendsGone, faults.BackendsLinger, faults.Never} {
		for _, late := range []bool{false, true} {
			if late && then != faults.BackendsGone {
				continue // it waits for nothing
			}
			tr, relay, end := guarded(t)
			f := killing(then)
			tr.warden.noteFired(f)
			ctx, cancel := context.WithCancel(t.Context())
			tr.warden.gone = func(ctx context.Context, _ []uint64) error {
				cancel()
				return ctx.Err()
			}
			if !late {
				cancel()
			}
			tr.warden.strike(ctx, f)
			tr.warden.timers.Wait()
			cancel()
			end()
			if lives, healed := afterwards(t, tr, relay); lives != 1 || healed != 0 {
				t.Errorf("%s, late: %v: %d lives, healed %d times", then, late, lives, healed)
			}
		}
	}
}

// Who exits by itself at the very end stays down, as well.
func TestAnExitAtTheVeryEndStartsNothing(t *testing.T) {
	for range 20 {
		tr, relay, end := guarded(t)
		tr.warden.noteFired(killing(faults.Immediately))
		tr.scenario.Faults = []faults.Fault{killing(faults.Immediately).Fault}
		tr.exits <- relay
		end()
		if lives, _ := afterwards(t, tr, relay); lives != 1 {
			t.Fatalf("%d lives", lives)
		}
	}
}
