package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/targets"
)

// floor does what a scenario cannot do without, with the harness's own parts: a
// database and a stream, the processes of the roles, the orders, the restarts,
// and the wait until every event is applied. Between the processes and the
// servers there is nothing, unless proxies are asked for, and nothing is
// recorded or judged. Its roles are Go functions.
type floor struct {
	run     *run
	logs    string
	proxies func() floorProxies // nil for none
}

// play plays a scenario on the stack of a job. Nothing of it is left when play
// returns.
func (f floor) play(ctx context.Context, worker int, s scenario.Scenario) (err error) {
	st := f.run.session.stacks[worker]
	db, err := st.Postgres.Database(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Drop(context.WithoutCancel(ctx))) }()
	stream, err := st.Broker.Stream(ctx, f.run.target.Broker.Topics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Drop(context.WithoutCancel(ctx))) }()
	conn, err := db.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	p := &floorPlay{
		floor: f, stack: st, db: db, stream: stream, conn: conn,
		logs: filepath.Join(f.logs, fmt.Sprint("job-", worker)), started: map[faults.Instance]*floorProcess{},
	}
	if f.proxies != nil {
		p.proxies = f.proxies()
		defer func() { err = errors.Join(err, p.proxies.close()) }()
	}
	defer func() { err = errors.Join(err, p.kill("")) }()
	if err := os.MkdirAll(p.logs, 0o755); err != nil {
		return fmt.Errorf("make a folder for the logs: %w", err)
	}
	for i, segment := range s.All() {
		if err := p.segment(ctx, i, segment, f.instances(s)); err != nil {
			return fmt.Errorf("the floor of segment %d: %w", i, err)
		}
	}
	return nil
}

// instances are those that a trial of the scenario starts, in its order.
func (f floor) instances(s scenario.Scenario) (list []faults.Instance) {
	apps := 1
	if s.Overlaps() {
		apps = 2
	}
	for _, role := range []struct {
		name  string
		count int
	}{{targets.RoleApp, apps}, {targets.RoleConsumer, max(1, f.run.target.Consumer.Replicas)}, {targets.RoleRelay, f.run.target.Relays(s.Replicas)}} {
		for i := range role.count {
			list = append(list, faults.Instance{Role: role.name, Index: i})
		}
	}
	return list
}

// floorPlay is one scenario that is played.
type floorPlay struct {
	floor
	stack   *stack.Stack
	db      *stack.Database
	stream  *stack.Stream
	conn    *pgx.Conn
	proxies floorProxies
	logs    string
	started map[faults.Instance]*floorProcess
	orders  int // that were placed
}

// segment works one segment: its orders, after the first of them that the
// instance has a part in the kills that its faults ask for, and the wait for its
// events.
func (p *floorPlay) segment(ctx context.Context, i int, s scenario.Segment, instances []faults.Instance) error {
	held := s.Pace == scenario.Batch
	if held && i > 0 {
		if err := p.kill(targets.RoleRelay); err != nil {
			return err
		}
	}
	relay := func(in faults.Instance) bool { return in.Role == targets.RoleRelay }
	if err := p.start(ctx, instances, func(in faults.Instance) bool { return i == 0 && !(held && relay(in)) }); err != nil {
		return err
	}
	kills := slices.DeleteFunc(slices.Clone(s.Faults), func(f faults.Fault) bool { return f.Do != faults.Kill })
	for n, step := range s.Workload {
		if err := p.step(ctx, step); err != nil {
			return err
		}
		if err := p.strike(ctx, &kills, func(in faults.Instance) bool {
			return p.started[in] != nil && (in.Role != targets.RoleApp || p.started[in].asked > 0)
		}); err != nil {
			return err
		}
		if !held && n < len(s.Workload)-1 {
			if err := p.applied(ctx); err != nil {
				return err
			}
		}
	}
	if held {
		if err := p.start(ctx, instances, relay); err != nil {
			return err
		}
	}
	if err := p.strike(ctx, &kills, func(faults.Instance) bool { return true }); err != nil {
		return err
	}
	return p.applied(ctx)
}

func (p *floorPlay) step(ctx context.Context, s scenario.Step) error {
	first, second := faults.Instance{Role: targets.RoleApp}, faults.Instance{Role: targets.RoleApp, Index: 1}
	switch {
	case s.Place != nil:
		p.orders++
		return p.started[first].ask(ctx, "place", *s.Place)
	case s.Abort != nil:
		return p.started[first].ask(ctx, "abort", *s.Abort)
	}
	p.orders += 2
	return errors.Join(p.started[first].ask(ctx, "place", s.Overlap[0]), p.started[second].ask(ctx, "place", s.Overlap[1]))
}

// strike kills the instances that the kills are about and that match, once they
// have begun to work, and starts them again. Those kills are done.
func (p *floorPlay) strike(ctx context.Context, kills *[]faults.Fault, match func(faults.Instance) bool) error {
	var later []faults.Fault
	for _, f := range *kills {
		in := f.Instance()
		if in.Index == faults.Any {
			in.Index = 0
		}
		if !match(in) {
			later = append(later, f)
			continue
		}
		if err := p.working(ctx, in); err != nil {
			return err
		}
		if err := p.started[in].process.Kill(); err != nil {
			return err
		}
		if err := p.start(ctx, []faults.Instance{in}, func(faults.Instance) bool { return true }); err != nil {
			return err
		}
	}
	*kills = later
	return nil
}

func (p *floorPlay) start(ctx context.Context, list []faults.Instance, match func(faults.Instance) bool) error {
	for _, in := range list {
		if !match(in) {
			continue
		}
		a, err := p.addresses(in)
		if err != nil {
			return err
		}
		argv, env := p.run.session.self(roles.Target(p.run.target.Name, in.Role))
		ours := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OUTBOXTEST_") })
		process, err := proc.Start(ctx, proc.Spec{
			Name: in.String(), Argv: argv, Env: slices.Concat(ours, targets.Environment(a), env), Guard: p.run.session.guard,
			Log: filepath.Join(p.logs, in.String()+".log"), Stdin: in.Role == targets.RoleApp, Stdout: in.Role == targets.RoleApp,
		})
		if err != nil {
			return err
		}
		p.started[in] = &floorProcess{process: process}
	}
	return nil
}

// addresses are those of the servers themselves, or of an instance's proxies.
func (p *floorPlay) addresses(in faults.Instance) (a targets.Addresses, err error) {
	var postgres, broker string
	if p.proxies != nil {
		if postgres, err = p.proxies.through(faults.Link{Instance: in, Server: faults.Postgres}, p.stack.Postgres.Addr()); err != nil {
			return a, err
		}
		if broker, err = p.proxies.through(faults.Link{Instance: in, Server: faults.Broker}, p.stack.Broker.Addr()); err != nil {
			return a, err
		}
	}
	return targets.Addresses{
		Postgres: targets.PostgresAddress{URL: p.db.URL(postgres)}, Broker: targets.BrokerAddress{URL: p.stack.Broker.URL(broker)},
		Topic: stack.PublishSubject(p.stream.Subjects), Stream: p.stream.Name, Instance: in.String(),
	}, nil
}

// kill kills the processes of a role, or all, one after another as a trial does.
func (p *floorPlay) kill(role string) (failed error) {
	for in, started := range p.started {
		if role == "" || in.Role == role {
			failed = errors.Join(failed, started.process.Kill())
			delete(p.started, in)
		}
	}
	return failed
}

// working waits until the instance has a session of Postgres.
func (p *floorPlay) working(ctx context.Context, in faults.Instance) error {
	return p.until(ctx, in.String()+" has a session of Postgres", func() (there bool, err error) {
		err = p.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1)`, in.String()).Scan(&there)
		return there, err
	})
}

// applied waits until every consumer has applied the events of all orders.
func (p *floorPlay) applied(ctx context.Context) error {
	want := p.orders * len(p.run.target.Consumer.Names)
	query := `SELECT count(*) FROM (` + p.run.target.Consumer.Applied + `) AS applied`
	return p.until(ctx, fmt.Sprintf("%d events are applied", want), func() (bool, error) {
		var n int
		err := p.conn.QueryRow(ctx, query).Scan(&n)
		return n >= want, err
	})
}

// until asks as often as a trial at most reads its ledgers.
func (p *floorPlay) until(ctx context.Context, what string, there func() (bool, error)) error {
	const pace, limit = 2 * time.Millisecond, 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		if done, err := there(); err != nil || done {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		}
	}
}
