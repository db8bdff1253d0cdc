package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
)

// Outcome is what one trial left.
type Outcome struct {
	History []properties.Event
	// Logs is the folder with the log of each instance; the job removes it at
	// the next trial, so whoever wants to keep it copies it.
	Logs string
	// Segments is how many segments drained with all their faults struck.
	Segments int
}

// TargetError says that the target, or its manifest, is not what it must be
// for a trial to mean anything: bad input, not a verdict.
type TargetError struct {
	Stage    Stage
	Instance string // may be empty
	What     string
	Mend     string // may be empty
	// Log is the end of what the instance, or the command, wrote; may be empty.
	Log string
}

func (e *TargetError) Error() string {
	text := e.What
	if e.Instance != "" {
		text = e.Instance + " " + text
	}
	if e.Mend != "" {
		text += "; " + e.Mend
	}
	if e.Log != "" {
		text += "; " + e.Log
	}
	return text
}

// Role is the role of the instance; empty when the error is not about one.
func (e *TargetError) Role() string {
	role, _, _ := strings.Cut(e.Instance, ".")
	return role
}

// trial is one execution of one scenario.
type trial struct {
	job      *Job
	look     *look // nil in a trial that is to be judged
	scenario scenario.Scenario
	ctx      context.Context

	db      *stack.Database
	stream  *stack.Stream
	rec     *recorder
	board   *wire.Board
	warden  *warden
	ledgers *ledgers
	web     *web // nil where the app is not asked by HTTP
	logs    string
	files   string  // the folder of the instances' files; it may not be there
	ports   []*port // to be given back

	instances map[faults.Instance]*instance
	order     []*instance // in the order of their start
	segments  int         // drained, with all their faults struck
	broken    string      // why segments were left out
	proven    bool        // what is missing before them is proven to be
	firings   chan wire.Firing
	exits     chan *instance
	watchers  sync.WaitGroup
	callers   sync.WaitGroup
}

// Run executes a scenario, judged beside the baseline of its workload, if there
// is one. A history is returned whenever one was recorded; an
// error says that the trial could not be carried out: a *[TargetError] when the
// target is to blame. Nothing of the trial is left when Run returns, except the
// folder with the logs.
func (j *Job) Run(ctx context.Context, s scenario.Scenario, baseline *properties.Baseline) (out Outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &trial{
		job: j, look: j.looking, scenario: s, ctx: ctx,
		rec:       newRecorder(j.reader, j.target.Relay.InApp, time.Now),
		instances: map[faults.Instance]*instance{},
		firings:   make(chan wire.Firing, 64),
		exits:     make(chan *instance, 64),
	}
	t.rec.look = t.look
	t.warden = newWarden(t)
	t.ledgers = newLedgers(t)
	if t.web, err = newWeb(j.target.App); err != nil {
		return Outcome{}, err
	}
	if t.logs, err = j.logFolder(); err != nil {
		return Outcome{}, err
	}
	out.Logs = t.logs
	t.files = filepath.Join(j.files, filepath.Base(t.logs))
	defer func() { err = errors.Join(err, t.removeOwn()) }()
	if t.db, err = j.stack.Postgres.Database(ctx); err != nil {
		return out, fmt.Errorf("make the trial's database: %w", err)
	}
	defer func() { err = errors.Join(err, t.db.Drop(context.WithoutCancel(ctx))) }()
	if t.stream, err = j.stack.Broker.Stream(ctx, j.target.Broker.Topics); err != nil {
		return out, fmt.Errorf("make the trial's stream: %w", err)
	}
	defer func() { err = errors.Join(err, t.stream.Drop(context.WithoutCancel(ctx))) }()
	t.board = t.newBoard()
	err = t.execute(ctx, baseline)
	out.History, out.Segments = t.finish(), t.segments
	return out, err
}

// execute is the trial from the first process to the last ledger. It returns
// with every process dead and every connection closed.
func (t *trial) execute(ctx context.Context, baseline *properties.Baseline) (err error) {
	t.open(baseline)
	wctx, stopWarden := context.WithCancel(ctx)
	var wardens sync.WaitGroup
	wardens.Go(func() { t.warden.run(wctx) })
	stop := t.stopper(func() {
		stopWarden()
		wardens.Wait()
	})
	defer func() { err = errors.Join(err, stop()) }()

	if err := t.prepare(); err != nil {
		return err
	}
	if err := t.board.Arm(t.scenario.Faults); err != nil {
		return fmt.Errorf("arm the faults: %w", err)
	}
	if err := t.play(ctx); err != nil {
		return err
	}
	if err := t.awaitDrain(ctx); err != nil {
		return err
	}
	if err := t.lookForBypasses(ctx); err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	t.reportUnfired()
	if err := t.quiesce(ctx); err != nil {
		return err
	}
	if err := t.ledgers.readWhole(ctx); err != nil {
		return err
	}
	t.ledgers.record(true)
	return nil
}

// newBoard makes the switchboard of the trial, which tells the recorder and the
// warden what happens.
func (t *trial) newBoard() *wire.Board {
	return wire.New(wire.Options{
		Observe: t.rec.observe,
		Fired: func(f wire.Firing) {
			t.warden.noteFired(f)
			t.firings <- f
		},
		Released: func(f wire.Firing) { t.warden.over(f, "released", "") },
		Began:    t.rec.start,
		Log:      t.job.log,
	})
}

// stopper ends everything that the trial has started, the first time that it is
// called.
func (t *trial) stopper(stopWarden func()) func() error {
	done := false
	return func() (failed error) {
		if done {
			return nil
		}
		done = true
		// The warden first: it would start again what is killed now.
		stopWarden()
		for _, in := range t.order {
			failed = errors.Join(failed, in.kill())
		}
		if failed == nil && !t.faulted() {
			failed = t.parting(t.order)
		}
		failed = errors.Join(failed, t.board.Close())
		t.watchers.Wait()
		t.callers.Wait()
		return failed
	}
}

// open writes the head of the history.
func (t *trial) open(baseline *properties.Baseline) {
	placed, aborted := t.scenario.Orders()
	target := t.job.target
	head := &properties.Trial{
		Version: properties.Version, Target: target.Name, Orders: placed, Aborts: aborted,
		Consumers: t.job.consumers(), Claims: target.Claims,
		Promise:    properties.Promise{Polls: t.promise().Polls, Time: t.promise().Time},
		OrderTable: orderTable(target.Committed), Pending: target.Pending != "", Roles: t.job.roles(),
		Baseline: baseline,
	}
	for _, f := range t.scenario.AllFaults() {
		head.Faults = append(head.Faults, f.String())
	}
	t.rec.add(properties.Event{Kind: properties.KindTrial, Trial: head})
}

// finish closes the history: orders named by a row's own id get their token,
// and the last event says that the trial came to its end.
func (t *trial) finish() []properties.Event {
	if _, whole := t.rec.history(); !whole {
		t.rec.problem(fmt.Sprintf("the links carried more than %d messages: the wire is not recorded to its end", maxEvents))
	}
	t.rec.add(properties.Event{Kind: properties.KindEnd})
	events, _ := t.rec.history()
	for _, e := range events {
		t.ledgers.settle(e)
	}
	return events
}

// removeOwn removes what the instances had of their own.
func (t *trial) removeOwn() error {
	var errs []error
	for _, p := range t.ports {
		errs = append(errs, p.giveBack())
	}
	if err := os.RemoveAll(t.files); err != nil {
		errs = append(errs, fmt.Errorf("remove the files of the trial's instances: %w", err))
	}
	return errors.Join(errs...)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logFolder is a fresh folder for the logs of the next trial; the last one's
// is removed.
func (j *Job) logFolder() (string, error) {
	if j.lastLogs != "" {
		if err := os.RemoveAll(j.lastLogs); err != nil {
			return "", fmt.Errorf("remove the last trial's logs: %w", err)
		}
	}
	j.trials++
	j.lastLogs = filepath.Join(j.dir, fmt.Sprintf("trial-%d", j.trials))
	// The job of another target may have left a folder of that name.
	if err := os.RemoveAll(j.lastLogs); err != nil {
		return "", fmt.Errorf("remove another target's logs: %w", err)
	}
	if err := os.MkdirAll(j.lastLogs, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for the trial's logs: %w", err)
	}
	return j.lastLogs, nil
}
