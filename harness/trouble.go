package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
)

// tries is how often a trial is executed that cannot be carried out, or whose
// fault does not strike. When a job could not carry out so many trials of one
// scenario in a row, and then not even that scenario without its faults, the
// environment is gone.
const tries = 3

// executor executes scenarios, one after another: a *[trial.Job].
type executor interface {
	Run(ctx context.Context, s scenario.Scenario, baseline *properties.Baseline) (trial.Outcome, error)
	ProveSegments()
}

// try executes a scenario and judges it. In a faulted trial a target that
// misbehaves is no error: the history says what was seen, and the judgement is
// unknown.
//
// A trial that the servers or the machine do not let come to its end is repeated.
// If it still does not, that is the trial's own trouble, which the visit tells,
// unknown and without a fault that struck; the next trial may fare better. It is an error when the same
// scenario without faults cannot be carried out either: then nothing can.
func (r *run) try(ctx context.Context, worker int, s scenario.Scenario) (visit, error) {
	for i := 1; ; i++ {
		v, err := r.once(ctx, worker, s)
		if err != nil || v.trouble == nil {
			return v, err
		}
		r.options.Log.Warn("a trial could not be carried out", "faults", whence("trial", v), "try", i, "error", v.trouble)
		if i == tries {
			return v, r.alive(ctx, worker, v)
		}
	}
}

// once executes a scenario once.
func (r *run) once(ctx context.Context, worker int, s scenario.Scenario) (visit, error) {
	out, err := r.jobs[worker].Run(ctx, s, r.baseline(s))
	r.findings.lock(func() { r.findings.trials++ })
	v := visit{scenario: s, history: out.History, judgement: properties.Judge(out.History), logs: out.Logs, segments: out.Segments}
	if err == nil {
		return v, nil
	}
	var wrong *trial.TargetError
	blamesTarget := errors.As(err, &wrong)
	if ctx.Err() != nil || blamesTarget && len(s.AllFaults()) == 0 {
		return visit{}, err
	}
	v.misbehaved = blamesTarget
	// What the ledgers prove stands, whatever became of the cleaning up.
	if !blamesTarget && v.judgement.Verdict != properties.Fail {
		v.trouble = err
		v.judgement = properties.Judgement{Verdict: properties.UnknownResult, Why: []string{v.whyTroubled()}}
	}
	return v, nil
}

// alive tells the trouble of one trial from the end of the environment, which is
// an error.
func (r *run) alive(ctx context.Context, worker int, v visit) error {
	if len(v.scenario.AllFaults()) > 0 {
		calm, err := r.once(ctx, worker, v.scenario.Calm())
		if ctx.Err() != nil {
			return err
		}
		// A target that has the last word has somebody to talk to.
		if v = calm; err != nil || v.trouble == nil {
			return nil
		}
	}
	return fmt.Errorf("trials can no longer be carried out, not even one without a fault, though each was tried %d times: see that PostgreSQL and the broker run and answer, and that the disk is not full: %w",
		tries, v.trouble)
}

// whyTroubled says what kept the trial from being carried out.
func (v visit) whyTroubled() string {
	return fmt.Sprintf("the trial could not be carried out, in %d tries: %s", tries, strings.ReplaceAll(v.trouble.Error(), "\n", "; "))
}
