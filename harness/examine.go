package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outboxtest/outboxtest/harness/diagnosis"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// Examination is what [Session.Examine] found.
type Examination struct {
	// Steps are all steps of the target, in their order.
	Steps []diagnosis.Step
	// Result is that of the fault-free runs, when no step is wrong; of one trial that
	// waited for proof, when the outbox itself may be what is wrong; else nil.
	Result *Result
	// Pace, Estimate and Advice are there after the fault-free runs.
	Pace     *diagnosis.Pace
	Estimate *Estimate
	Advice   []string
}

// Wrong is the step that is wrong; nil when none is.
func (e Examination) Wrong() *diagnosis.Step {
	for i := range e.Steps {
		if e.Steps[i].State == diagnosis.Wrong {
			return &e.Steps[i]
		}
	}
	return nil
}

// Verdict is that of the result. It is unknown without one.
func (e Examination) Verdict() properties.Verdict {
	if e.Result == nil || e.Wrong() != nil && e.Result.Verdict == properties.Pass {
		return properties.UnknownResult
	}
	return e.Result.Verdict
}

// Examine tries a target step by step, without any fault: it builds, makes the schema,
// and looks at one trial of one order. It stops at the first step that is wrong, which
// is no error. Where none is it makes the fault-free runs of a sweep, and measures
// them. tell, if any, is called with each step as soon as it is known. Errors are those
// of [Session.Run], but for what a step tells; Options.Jobs is what the estimate counts
// with.
func (s *Session) Examine(ctx context.Context, target targets.Target, o Options, tell func(diagnosis.Step)) (Examination, error) {
	x := &examiner{session: s, target: target.WithDefaults(), tell: tell}
	err := x.examine(ctx, o)
	return x.out, err
}

// examiner is one examination.
type examiner struct {
	session *Session
	target  targets.Target
	tell    func(diagnosis.Step)
	out     Examination
}

func (x *examiner) examine(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	o.SkipSweep = true
	o = o.withSeed()
	s := x.session
	if err := x.target.Validate(); err != nil {
		return x.stop(diagnosis.Step{Name: diagnosis.Manifest, State: diagnosis.Wrong, What: err.Error()})
	}
	x.add(diagnosis.Step{Name: diagnosis.Manifest, State: diagnosis.OK, What: "it can be read, and every key makes sense"})
	x.add(diagnosis.Step{Name: diagnosis.Servers, State: diagnosis.OK, What: s.servers()})

	begin := time.Now()
	if err := s.build(ctx, x.target, o.Progress); err != nil {
		return x.failed(err)
	}
	if n := len(x.target.Build); n > 0 {
		x.add(diagnosis.Step{Name: diagnosis.Build, State: diagnosis.OK, What: fmt.Sprintf("%d of %d commands succeeded", n, n)})
	}
	jobs, err := s.jobs(ctx, x.target)
	if err != nil {
		return x.failed(err)
	}
	x.add(diagnosis.Step{Name: diagnosis.Schema, State: diagnosis.OK, What: schemaText(x.target)})

	r := &run{session: s, target: x.target, options: o, jobs: jobs, findings: newFindings(), begin: begin, budget: newBudget(0, begin)}
	sound, err := x.looks(ctx, r)
	if err != nil {
		return err
	}
	if sound {
		return x.measure(ctx, r)
	}
	if wrong := x.out.Wrong(); wrong != nil && wrong.Outbox {
		return x.prove(ctx, r)
	}
	return nil
}

// looks executes the trial of one order, and tells its steps. An order that is refused
// is asked for in another trial once more: the deadlines of the app may have run out on a
// machine that was busy for a moment.
func (x *examiner) looks(ctx context.Context, r *run) (sound bool, err error) {
	for again := true; ; again = false {
		steps, err := x.look(ctx, r)
		if err != nil {
			return false, err
		}
		wrong := slices.IndexFunc(steps, func(s diagnosis.Step) bool { return s.State == diagnosis.Wrong })
		if again && wrong >= 0 && steps[wrong].Name == diagnosis.Order {
			continue
		}
		for _, step := range steps {
			x.add(step)
		}
		if wrong >= 0 {
			x.rest()
		}
		return wrong < 0, nil
	}
}

// look executes the trial once, and tells the steps that come about while it goes on.
func (x *examiner) look(ctx context.Context, r *run) ([]diagnosis.Step, error) {
	looker, ok := r.jobs[0].(interface {
		Look(ctx context.Context, s scenario.Scenario, told func([]properties.Event)) (trial.Outcome, trial.Look, error)
	})
	if !ok {
		return nil, errors.New("look at the target: the job cannot")
	}
	out, seen, err := looker.Look(ctx, oneOrderOf(r.target), func(history []properties.Event) {
		for _, step := range diagnosis.Steps(history, diagnosis.Facts{Manifest: x.target.Manifest}) {
			if step.State != diagnosis.OK {
				break
			}
			x.add(step)
		}
	})
	if wrong, ok := errors.AsType[*trial.TargetError](err); ok {
		seen.Wrong = append(seen.Wrong, wrong)
	} else if err != nil || ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	facts := diagnosis.Facts{
		Manifest: x.target.Manifest, Published: messages(seen.Published), Stored: messages(seen.Stored), Subjects: seen.Subjects,
		Logs: logsIn(out.Logs), Whole: true,
	}
	for _, wrong := range seen.Wrong {
		facts.Failures = append(facts.Failures, failure(wrong, out.History))
	}
	x.out.Pace = &diagnosis.Pace{AckWait: seen.AckWait}
	return diagnosis.Steps(out.History, facts), nil
}

// prove has the same trial wait for proof, where the outbox may be what is wrong: what
// it violates without any fault is worth more than a guess about its manifest.
func (x *examiner) prove(ctx context.Context, r *run) error {
	v, err := r.try(ctx, 0, oneOrderOf(r.target))
	if err != nil {
		return err
	}
	if err := r.take(ctx, 0, v, "one-order"); err != nil {
		return err
	}
	result := r.result(time.Since(r.begin))
	x.out.Result = &result
	return nil
}

// measure makes the fault-free runs.
func (x *examiner) measure(ctx context.Context, r *run) error {
	begin := time.Now()
	err := r.everything(ctx)
	took := time.Since(begin)
	if err != nil {
		return err
	}
	result := r.result(time.Since(r.begin))
	x.out.Result = &result
	var histories [][]properties.Event
	for _, rec := range r.recordings {
		histories = append(histories, rec.History)
	}
	pace := diagnosis.PaceOf(histories, x.target.Manifest)
	pace.AckWait = x.out.Pace.AckWait
	if r.findings.trials > 0 {
		pace.Trial = took * time.Duration(len(r.jobs)) / time.Duration(r.findings.trials)
	}
	x.out.Pace = &pace
	x.out.Advice = pace.Advice(x.target.Manifest)
	if result.Verdict == properties.Pass {
		x.out.Estimate = estimate(r, pace)
	}
	return nil
}

// add tells a step, once.
func (x *examiner) add(step diagnosis.Step) {
	if slices.ContainsFunc(x.out.Steps, func(s diagnosis.Step) bool { return s.Name == step.Name }) {
		return
	}
	x.out.Steps = append(x.out.Steps, step)
	if x.tell != nil {
		x.tell(step)
	}
}

// stop tells the step that is wrong, and those that are not tried.
func (x *examiner) stop(step diagnosis.Step) error {
	x.add(step)
	x.rest()
	return nil
}

func (x *examiner) rest() {
	for _, name := range diagnosis.Names(x.target.Manifest) {
		x.add(diagnosis.Step{Name: name, State: diagnosis.NotTried})
	}
}

// failed makes a step of an error of the target; any other error it returns.
func (x *examiner) failed(err error) error {
	wrong, ok := errors.AsType[*trial.TargetError](err)
	if !ok {
		return err
	}
	f := failure(wrong, nil)
	return x.stop(diagnosis.Step{Name: f.Step, State: diagnosis.Wrong, What: f.What, Mend: f.Mend, Evidence: f.Evidence})
}

// servers says which stack is used, without passwords.
func (s *Session) servers() string {
	st := s.stacks[0]
	pg := fmt.Sprintf("PostgreSQL %s of this machine, started for this run", st.Postgres.Version())
	if !st.Postgres.Own() {
		pg = fmt.Sprintf("PostgreSQL %s at %s, given by URL", st.Postgres.Version(), st.Postgres.Addr())
	} else if s.options.Postgres == "embedded" {
		pg = fmt.Sprintf("PostgreSQL %s, downloaded, started for this run", st.Postgres.Version())
	}
	nats := fmt.Sprintf("NATS %s, started for this run", st.Broker.Version())
	if !st.Broker.Own() {
		nats = fmt.Sprintf("NATS %s at %s, given by URL", st.Broker.Version(), st.Broker.Addr())
	}
	return pg + "; " + nats
}

func schemaText(t targets.Target) string {
	var made []string
	if n := len(t.SchemaSQL); n > 0 {
		names := strings.Join(t.Schema.Files, ", ")
		if len(t.Schema.Files) != n {
			names = fmt.Sprintf("SQL in %d parts", n)
		}
		made = append(made, names+" applied")
	}
	switch {
	case len(t.Schema.Run) > 0:
		made = append(made, strings.Join(t.Schema.Run, " ")+" succeeded")
	case t.Schema.ByApp:
		made = append(made, "the app made it")
	}
	if len(made) == 0 {
		return "the manifest has none"
	}
	return strings.Join(made, "; ")
}
