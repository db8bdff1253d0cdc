package harness

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/polling"
)

// variations are the targets of these tests whose roles are Go functions of
// their own: polling, with one role played differently.
func variations() []targets.Target {
	var list []targets.Target
	for _, v := range []struct {
		name, role string
		run        targets.RoleFunc
	}{
		{"relay-sleeps", targets.RoleRelay, sleep},
		{"relay-by-file", targets.RoleRelay, relayByFile},
		{"app-makes-its-schema", targets.RoleApp, appMakesSchema},
		{"consumer-applies-nothing", targets.RoleConsumer, applyNothing},
		{"app-connects-past-the-proxy-for-a-moment", targets.RoleApp, connectForAMoment},
		{"relay-leases", targets.RoleRelay, lease},
		{"relay-marks-a-range", targets.RoleRelay, markRange},
		{"app-watches-its-commit", targets.RoleApp, watchCommit},
		{"app-begins-twice", targets.RoleApp, beginTwice},
		{"app-commits-on-two-connections", targets.RoleApp, commitTwice},
		{"app-degrades-after-a-broken-start", targets.RoleApp, degradeAfterBrokenStart},
		{"relay-skips-after-a-broken-poll", targets.RoleRelay, skipAfterBrokenPoll},
		{"relay-loses-after-many-starts", targets.RoleRelay, loseAfterManyStarts},
		{"relay-gives-up-on-what-another-tried", targets.RoleRelay, giveUpTried},
		{"relay-daemonizes", targets.RoleRelay, daemonize},
		{"consumer-skips-after-a-broken-pull", targets.RoleConsumer, skipAfterBrokenPull},
	} {
		t := polling.Target()
		t.Name = v.name
		t.Relay.Replicas = 1 // so that relay.0 has the work that a scenario names
		t.Go = maps.Clone(t.Go)
		t.Go[v.role] = v.run
		list = append(list, t)
	}
	return append(append(list, appRelays()), httpVariations()...)
}

// appRelays is polling with its relay in the app's process.
func appRelays() targets.Target {
	t := polling.Target()
	t.Name, t.Relay = "app-relays", targets.Relay{InApp: true}
	t.Go = maps.Clone(t.Go)
	delete(t.Go, targets.RoleRelay)
	t.Go[targets.RoleApp] = func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { _ = polling.Relay(ctx) }) // it ends with ctx alone
		return polling.App(ctx)
	}
	return t
}

// sleep looks healthy and does nothing.
func sleep(context.Context) error {
	for {
		time.Sleep(time.Hour)
	}
}
