package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/faults/wire/natswire"
	"github.com/outboxtest/outboxtest/faults/wire/pgwire"
	"github.com/outboxtest/outboxtest/harness/roles"
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
	spec, err := t.spec(id, t.addresses(id, postgres, broker))
	if err != nil {
		return err
	}
	in := newInstance(t, id, spec)
	t.instances[id] = in
	t.order = append(t.order, in)
	return nil
}

func (t *trial) addresses(id faults.Instance, postgres, broker string) targets.Addresses {
	pgHost, pgPort, _ := net.SplitHostPort(postgres)
	brHost, brPort, _ := net.SplitHostPort(broker)
	user, password := t.job.stack.Postgres.Credentials()
	brUser, brPassword := t.job.stack.Broker.Credentials()
	return targets.Addresses{
		Postgres: targets.PostgresAddress{
			URL: t.db.URL(postgres), Host: pgHost, Port: pgPort, User: user, Password: password, Database: t.db.Name},
		Broker: targets.BrokerAddress{
			URL: t.job.stack.Broker.URL(broker), Addr: broker, Host: brHost, Port: brPort, User: brUser, Password: brPassword},
		Topic: stack.PublishSubject(t.stream.Subjects), Stream: t.stream.Name, Instance: id.String(),
	}
}

// spec says how to start an instance: the manifest's command, the target's Go
// function in our own binary, or a role of the harness itself.
func (t *trial) spec(id faults.Instance, a targets.Addresses) (proc.Spec, error) {
	target := t.job.target
	var p targets.Process
	switch id.Role {
	case "app":
		p = target.App.Process
	case "relay":
		p = target.Relay.Process
	case "consumer":
		if target.Consumer != nil {
			p = target.Consumer.Process
		}
	}
	spec := proc.Spec{
		Name: id.String(), Dir: target.WorkDir(p), Log: filepath.Join(t.logs, id.String()+".log"),
		Stdin: id.Role == "app", Stdout: id.Role == "app", Guard: t.job.guard,
		Secrets: []string{a.Postgres.Password, a.Broker.Password},
		Env:     append(cleanEnvironment(), targets.Environment(a)...),
	}
	own, err := t.job.ownRole(id.Role)
	switch {
	case err != nil:
		return spec, err
	case own != nil:
		spec.Argv, spec.Dir = own.Argv, ""
		spec.Env = append(spec.Env, own.Env...)
	case target.Go[id.Role] != nil:
		argv, env := t.job.self(roles.Target(target.Name, id.Role))
		spec.Argv, spec.Dir = argv, ""
		spec.Env = append(spec.Env, env...)
	default:
		for _, word := range p.Start {
			expanded, err := targets.Expand(word, a)
			if err != nil {
				return spec, fmt.Errorf("%s.start: %w", id.Role, err)
			}
			spec.Argv = append(spec.Argv, expanded)
		}
	}
	for _, key := range sortedKeys(p.Env) {
		expanded, err := targets.Expand(p.Env[key], a)
		if err != nil {
			return spec, fmt.Errorf("%s.env.%s: %w", id.Role, key, err)
		}
		spec.Env = append(spec.Env, key+"="+expanded)
	}
	return spec, nil
}

// start starts the instances of the roles that match.
func (t *trial) start(match func(role string) bool) error {
	for _, in := range t.order {
		if !match(in.id.Role) {
			continue
		}
		if err := in.start(); err != nil {
			return &TargetError{Instance: in.id.String(), What: "does not start: " + errors.Unwrap(err).Error(), Mend: "check " + in.id.Role + ".start in the manifest"}
		}
	}
	return nil
}

// relaysUp reports whether every relay runs, and the relays have been seen on
// their links. One that was seen and does not come back to a link that has been
// healed is what the harness looks for; one that was never seen may go past its
// proxies.
func (t *trial) relaysUp() bool {
	if t.rec.tally().never {
		return false
	}
	for _, in := range t.order {
		if in.id.Role == t.relayRole() && !in.running() {
			return false
		}
	}
	return true
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

// cleanEnvironment is ours, without what an outer harness may have set.
func cleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OUTBOXTEST_") })
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
