package trial

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/faults/wire/natswire"
	"github.com/outboxtest/outboxtest/faults/wire/pgwire"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// prepare makes the instances and the proxies of their links. Nothing is
// started yet.
func (t *trial) prepare() error {
	apps := 1
	if t.scenario.Overlaps() {
		apps = 2
	}
	relays := t.job.target.Relays(t.scenario.Replicas)
	consumers := 1
	if t.job.target.Consumer != nil {
		consumers = max(1, t.job.target.Consumer.Replicas)
	}
	for _, role := range []struct {
		name  string
		count int
	}{{"app", apps}, {"consumer", consumers}, {"relay", relays}} {
		for i := range role.count {
			if err := t.prepareInstance(faults.Instance{Role: role.name, Index: i}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *trial) prepareInstance(id faults.Instance) error {
	postgres, err := t.board.Link(faults.Link{Instance: id, Server: faults.Postgres}, t.job.stack.Postgres.Addr(), func() frame.Conversation { return pgwire.New() })
	if err != nil {
		return fmt.Errorf("make the proxy of %s to Postgres: %w", id, err)
	}
	broker, err := t.board.Link(faults.Link{Instance: id, Server: faults.Broker}, t.job.stack.Broker.Addr(), func() frame.Conversation { return natswire.New() })
	if err != nil {
		return fmt.Errorf("make the proxy of %s to the broker: %w", id, err)
	}
	in, err := t.makeInstance(id, t.addresses(id, postgres, broker))
	if err != nil {
		return err
	}
	t.instances[id] = in
	t.order = append(t.order, in)
	return nil
}

// makeInstance completes the addresses with what is the instance's own.
func (t *trial) makeInstance(id faults.Instance, a targets.Addresses) (*instance, error) {
	port, files, err := t.job.equip(id, &a, filepath.Join(t.files, id.String()))
	if port != nil {
		t.ports = append(t.ports, port)
	}
	if err != nil {
		return nil, err
	}
	spec, err := t.job.spec(id, a, t.logs)
	if err != nil {
		return nil, err
	}
	p := t.job.process(id.Role)
	in := newInstance(t, id, spec)
	in.addresses, in.port, in.files = a, port, files
	in.ready, in.within = p.Ready, p.StartBudget()
	return in, nil
}

func (t *trial) addresses(id faults.Instance, postgres, broker string) targets.Addresses {
	return t.job.addresses(id, t.db.Name, postgres, broker, t.stream)
}

// start starts the instances of the roles that match.
func (t *trial) start(match func(role string) bool) error {
	for _, in := range t.order {
		if !match(in.id.Role) {
			continue
		}
		if err := in.start(); err != nil {
			var cannot *startError
			if !errors.As(err, &cannot) {
				return err // the machine's trouble
			}
			return &TargetError{Stage: StageStart, Instance: in.id.String(), What: "does not start: " + cannot.err.Error(), Mend: "check " + in.id.Role + ".start in the manifest"}
		}
	}
	return nil
}

// relaysUp reports whether every relay runs and is ready, and the relays have been seen on
// their links. One that was seen and does not come back to a link that has been
// healed is what the harness looks for; one that was never seen may go past its
// proxies.
func (t *trial) relaysUp() bool {
	if t.rec.tally().never {
		return false
	}
	for _, in := range t.order {
		if in.id.Role == t.relayRole() && (!in.running() || !in.settled()) {
			return false
		}
	}
	return !t.isLate(t.relayRole())
}

// relaysSeen reports whether every relay has carried something on both of its
// links: what comes twice comes from a relay that has begun.
func (t *trial) relaysSeen() bool {
	for _, in := range t.order {
		if in.id.Role != t.relayRole() {
			continue
		}
		for _, server := range []faults.Server{faults.Postgres, faults.Broker} {
			if len(t.board.State(faults.Link{Instance: in.id, Server: server}).Completed) == 0 {
				return false
			}
		}
	}
	return true
}

// consumersConnected reports whether every consumer has a connection to the broker.
func (t *trial) consumersConnected() bool {
	for _, in := range t.order {
		if in.id.Role != targets.RoleConsumer {
			continue
		}
		if s := t.board.State(faults.Link{Instance: in.id, Server: faults.Broker}); s.Readable+s.Opaque == 0 {
			return false
		}
	}
	return true
}

// relayRole is the role whose processes publish.
func (t *trial) relayRole() string {
	if t.job.target.Relay.InApp {
		return "app"
	}
	return "relay"
}

// relaysInFlight counts the exchanges of the relays that have no reply yet.
func (t *trial) relaysInFlight() int {
	return t.board.InFlight(t.relayRole())
}

// publishesInFlight counts the exchanges between the relays and the broker that
// have no reply yet.
func (t *trial) publishesInFlight() (n int) {
	for _, in := range t.order {
		if in.id.Role == t.relayRole() {
			n += t.board.State(faults.Link{Instance: in.id, Server: faults.Broker}).InFlight
		}
	}
	return n
}

// lookForBypasses records the server-side connections that no proxy carries.
func (t *trial) lookForBypasses(ctx context.Context) error {
	ledger := &properties.Ledger{Name: properties.LedgerBackends}
	backends, err := t.db.Backends(ctx)
	if err != nil {
		return fmt.Errorf("look for connections past the proxies: %w", err)
	}
	carried := t.board.Backends()
	for _, b := range backends {
		if !slices.Contains(carried[faults.Postgres], uint64(b.PID)) {
			ledger.Bypassed = append(ledger.Bypassed, fmt.Sprintf("a connection to Postgres by %q", b.ApplicationName))
		}
	}
	clients, err := t.job.stack.Broker.Connections(ctx)
	switch {
	case errors.Is(err, stack.ErrUnknown):
	case err != nil:
		return fmt.Errorf("look for connections past the proxies: %w", err)
	default:
		for _, c := range clients {
			if !c.Ours && !slices.Contains(carried[faults.Broker], c.ID) {
				ledger.Bypassed = append(ledger.Bypassed, fmt.Sprintf("a connection to the broker by %q", c.Name))
			}
		}
	}
	t.rec.add(properties.Event{Kind: properties.KindLedger, Ledger: ledger})
	return nil
}
