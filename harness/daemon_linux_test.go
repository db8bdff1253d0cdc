package harness

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/harness/diagnosis"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// A role that leaves a process behind which no kill reaches is bad input: the
// fault-free run tells it, with the mend.
func TestADaemonIsToldByTheFaultFreeRun(t *testing.T) {
	r := prepared(t, borrow(t), variation(t, "relay-daemonizes"))
	_, err := r.try(t.Context(), 0, parse(t, oneOrder))
	blames(t, err, "relay.0 left a process behind that holds its connections", "start it in the foreground")
}

// The first process of most daemons ends at once.
func TestADaemonThatLeavesItsPostIsToldTheMend(t *testing.T) {
	target := reference(t)
	target.Relay.Start, target.Go = []string{"sh", "-c", "setsid sleep 1 &"}, maps.Clone(target.Go)
	delete(target.Go, targets.RoleRelay)
	_, err := prepared(t, borrow(t), target).try(t.Context(), 0, parse(t, oneOrder))
	blames(t, err, "relay.0 exited by itself", "start it in the foreground")
}

// Where only the faulted trial shows it, that trial is unknown for this reason,
// not for the want of a server.
func TestADaemonLeavesAChainUnknown(t *testing.T) {
	r := prepared(t, borrow(t), variation(t, "relay-daemonizes"))
	v, err := r.try(t.Context(), 0, parse(t, oneOrder+`segments:
  - workload: [{place: {order: o2}}]
    pace: batch
    faults: [{at: 'relay.0/broker "publish" #1 before', do: cut}]
`))
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(v.judgement.Why, "\n")
	if v.judgement.Verdict != properties.UnknownResult || !strings.Contains(told, "start it in the foreground") || v.trouble != nil {
		t.Errorf("%s: %s (%v)", v.judgement.Verdict, told, v.trouble)
	}
}

// The doctor names the step of the role, and the mend.
func TestTheDoctorSeesADaemon(t *testing.T) {
	s := borrow(t)
	out, err := s.Examine(t.Context(), variation(t, "relay-daemonizes"), Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range out.Steps {
		if step.State == diagnosis.Wrong && step.Name == diagnosis.Relay && strings.Contains(step.Mend, "start it in the foreground") {
			return
		}
	}
	t.Errorf("nothing is wrong with the relay: %+v", out.Steps)
}

// A chain that was to prove something, and whose target turned out not to be what it
// must be, leaves the run unknown.
func TestAMisbehavedProofIsTold(t *testing.T) {
	r := prepared(t, borrow(t), reference(t))
	cells := chainOf(t, r, "relay.0/broker")
	r.jobs = []executor{misbehaving{r.jobs[0]}}
	w := &walk{run: r, phase: "sweep"}
	if err := w.prove(t.Context(), 0, cells, parse(t, faulted(oneOrder, at(`relay.0/broker "publish" #1 before`, "kill")))); err != nil {
		t.Fatal(err)
	}
	if r.findings.undecided != 1 {
		t.Error("it is not told")
	}
}

// misbehaving is a job whose target is never what it must be.
type misbehaving struct{ executor }

func (misbehaving) Run(context.Context, scenario.Scenario, *properties.Baseline) (trial.Outcome, error) {
	return trial.Outcome{}, &trial.TargetError{Stage: trial.StageExit, Instance: "relay.0", What: "left a process behind"}
}
