package trial

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// supervised is a trial of one relay that runs a script and has a port, and its
// warden at work. Nothing is started yet.
func supervised(t *testing.T, script string, ready targets.Ready, within time.Duration, limits targets.Limits) (*trial, *instance) {
	t.Helper()
	tr := &trial{
		job: &Job{target: targets.Target{}, log: slog.New(slog.DiscardHandler)},
		ctx: t.Context(), rec: newRecorder(nil, false, time.Now), board: wire.New(wire.Options{}),
		instances: map[faults.Instance]*instance{}, firings: make(chan wire.Firing, 8), exits: make(chan *instance, 8),
	}
	tr.job.target.Limits = limits
	tr.rec.relay.never = false
	tr.warden = newWarden(tr)
	id := faults.Instance{Role: "relay"}
	own := free(t)
	relay := newInstance(tr, id, proc.Spec{Name: id.String(), Argv: sh(script), Log: filepath.Join(t.TempDir(), "relay.0.log"), Secrets: []string{"hunter2"}})
	relay.ready, relay.within, relay.port, relay.addresses.Port = ready, within, own, own.String()
	tr.instances[id], tr.order = relay, []*instance{relay}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { tr.warden.run(ctx) })
	stop := tr.stopper(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(func() {
		if err := errors.Join(stop(), own.giveBack()); err != nil {
			t.Error(err)
		}
	})
	return tr, relay
}

// withFault makes it a trial with a fault, which finds nothing to strike.
func withFault(tr *trial) { tr.scenario.Faults = []faults.Fault{killing(faults.Immediately).Fault} }

// soon waits for something that is on its way.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	const patience = 30 * time.Second
	for begin := time.Now(); !is(); {
		if time.Since(begin) > patience {
			t.Fatalf("waited %v for %s", patience, what)
		}
		time.Sleep(time.Millisecond)
	}
}

func everyRole(string) bool { return true }

// blamed is what the trial's failure says of the target.
func blamed(t *testing.T, err error, words ...string) {
	t.Helper()
	var wrong *TargetError
	if !errors.As(err, &wrong) || wrong.Instance != "relay.0" {
		t.Fatalf("got %v", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("nothing says %q: %v", word, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("it tells the password: %v", err)
	}
}

// A target that is not up in time has no fault to blame.
func TestNotReadyInTimeWithoutAFault(t *testing.T) {
	tr, relay := supervised(t, "echo connecting with hunter2; exec sleep 1000", targets.Ready{Get: "/healthz"}, 100*time.Millisecond, targets.Limits{})
	if err := relay.start(); err != nil {
		t.Fatal(err)
	}
	blamed(t, tr.awaitReady(t.Context(), everyRole), "was not ready within 100ms", "GET /healthz on its port "+relay.port.String(),
		"last seen: connection refused", "relay.ready-within", "connecting with ***")
}

func TestAnExitBeforeItWasReady(t *testing.T) {
	tr, relay := supervised(t, "echo no such host; exit 7", targets.Ready{Log: "up"}, time.Hour, targets.Limits{})
	if err := relay.start(); err != nil {
		t.Fatal(err)
	}
	blamed(t, tr.awaitReady(t.Context(), everyRole), "exited with status 7", `a line of its log that matches "up"`, "no such host")
}

// With a fault it is the wait for the outbox that looks into it: until the time is
// spent nothing is promised, and then the relay is not as it should be.
func TestNotReadyInTimeWithAFault(t *testing.T) {
	tr, relay := supervised(t, "exec sleep 1000", targets.Ready{Port: true}, 300*time.Millisecond, targets.Limits{})
	withFault(tr)
	if err := relay.start(); err != nil {
		t.Fatal(err)
	}
	if _, healthy, _ := tr.warden.health(); healthy || tr.relaysUp() || tr.late() != "" {
		t.Error("it is healthy while it starts")
	}
	if err := tr.awaitReady(t.Context(), everyRole); err != nil {
		t.Fatal(err)
	}
	if _, healthy, _ := tr.warden.health(); !healthy || tr.relaysUp() || !tr.isLate("relay") {
		t.Errorf("healthy: %v, the relays are up: %v", healthy, tr.relaysUp())
	}
	if late := tr.late(); !strings.Contains(late, "relay.0 was not ready within 300ms: waited for its port") {
		t.Errorf("told: %q", late)
	}
	// It is still looked at.
	l, err := net.Listen("tcp", loopback(relay.port.number))
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "the relay to be ready", tr.relaysUp)
	if tr.late() != "" {
		t.Errorf("told: %q", tr.late())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// Every life has to be ready by itself, and nobody is served by one that is not.
func TestALifeIsReadyByItself(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "flag") // there before the line: the kill comes right after that
	tr, relay := supervised(t, fmt.Sprintf("[ -e %[1]s ] || { touch %[1]s; echo up; }; exec sleep 1000", flag), targets.Ready{Log: "^up$"}, time.Hour, targets.Limits{})
	withFault(tr)
	if err := relay.start(); err != nil {
		t.Fatal(err)
	}
	if err := tr.awaitReady(t.Context(), everyRole); err != nil {
		t.Fatal(err)
	}
	select {
	case <-relay.up:
	default:
		t.Error("nobody is told that it is up")
	}
	if err := errors.Join(relay.kill(), relay.start()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * readyTurn) // a mistake would be seen by then; nothing else is decided
	if relay.settled() || !relay.starting() {
		t.Error("it is ready by the line of the life before")
	}
	events, _ := tr.rec.history()
	var what []string
	for _, e := range events {
		if e.Kind == properties.KindProcess {
			what = append(what, e.Process.What)
		}
	}
	if got := strings.Join(what, ", "); got != "started, ready, killed, started" {
		t.Errorf("recorded: %s", got)
	}
}

// Who says that it exits when a server fails it is started again, fault or not, and
// does not use up its restarts while a fault is in force.
func TestExitsOnError(t *testing.T) {
	limits := targets.Limits{ExitsOnError: true}
	lives := func(tr *trial) (n int) {
		events, _ := tr.rec.history()
		for _, e := range events {
			if e.Process != nil && e.Process.What == "started" {
				n++
			}
		}
		return n
	}
	t.Run("without a fault", func(t *testing.T) {
		tr, relay := supervised(t, fmt.Sprintf("[ -e %[1]s ] && exec sleep 1000; touch %[1]s; exit 1", filepath.Join(t.TempDir(), "flag")), targets.Ready{}, 0, limits)
		if err := relay.start(); err != nil {
			t.Fatal(err)
		}
		soon(t, "a second life", func() bool { return lives(tr) == 2 && relay.running() })
		if _, _, failure := tr.warden.health(); failure != nil {
			t.Error(failure)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		tr, relay := supervised(t, "echo cannot; exit 1", targets.Ready{}, 0, limits)
		if err := relay.start(); err != nil {
			t.Fatal(err)
		}
		var failure error
		soon(t, "the end of patience", func() bool { _, _, failure = tr.warden.health(); return failure != nil })
		blamed(t, failure, "exited with status 1", "cannot")
		if n := lives(tr); n != maxExits+1 {
			t.Errorf("%d lives", n)
		}
	})
	t.Run("while a fault is in force", func(t *testing.T) {
		tr, relay := supervised(t, "exit 1", targets.Ready{}, 0, limits)
		withFault(tr)
		tr.warden.noteFired(killing(faults.Never))
		if err := relay.start(); err != nil {
			t.Fatal(err)
		}
		soon(t, "more lives than restarts", func() bool { return lives(tr) > maxExits+2 })
		if lost := tr.warden.lost(); lost != "" {
			t.Errorf("given up: %s", lost)
		}
	})
}

// Somebody else on its port is why an instance exits, and not its own mistake.
func TestAnExitBecauseOfAStranger(t *testing.T) {
	tr, relay := supervised(t, "echo address already in use; exit 1", targets.Ready{Port: true}, time.Hour, targets.Limits{})
	l, err := net.Listen("tcp", loopback(relay.port.number))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	tr.exits <- relay // as if it had been on its way while the stranger came
	var failure error
	soon(t, "the trouble", func() bool { _, _, failure = tr.warden.health(); return failure != nil })
	var taken *PortError
	var wrong *TargetError
	if !errors.As(failure, &taken) || errors.As(failure, &wrong) || !strings.Contains(failure.Error(), "relay.0") {
		t.Errorf("got %v", failure)
	}
	if err := relay.start(); !errors.As(err, &taken) {
		t.Errorf("started: %v", err)
	}
}
