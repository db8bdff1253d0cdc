package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/targets"
)

// Config is what a job needs. The stack and the guard are borrowed: whoever
// made them closes them after the job's last trial.
type Config struct {
	Target targets.Target
	Stack  *stack.Stack
	Guard  *proc.Guard
	// Self starts our own binary again as the named role.
	Self func(role string) (argv, env []string)
	// Dir holds the logs of the trial under way.
	Dir string
	// Files takes what the instances of the trial under way have of their own:
	// texts with passwords. Nothing is left there after a trial.
	Files string
	// Ports are shared by the jobs of a run; nil makes some.
	Ports *Ports
	Log   *slog.Logger
}

// Job executes trials of one target on one stack, one after another.
type Job struct {
	target targets.Target
	reader *targets.EventReader
	stack  *stack.Stack
	guard  *proc.Guard
	self   func(role string) (argv, env []string)
	dir    string
	files  string
	ports  *Ports
	log    *slog.Logger

	trials   int
	lastLogs string
	// proving: what is missing at the end of any segment is proven to be.
	proving bool
	// looking is set while a trial only looks.
	looking *look
}

// ProveSegments has the trials that follow wait at the end of each segment for a
// proof of what is missing, as they do at the end of the last, so that a chain is
// judged though it does not come to its end. Else a segment that does not drain
// within the promise ends the trial without evidence.
func (j *Job) ProveSegments() { j.proving = true }

// NewJob makes the target's schema in a template database and is then ready for
// trials. What the target builds is built by then, see [Build].
func NewJob(ctx context.Context, c Config) (*Job, error) {
	reader, err := c.Target.Event.Compile()
	if err != nil {
		return nil, &TargetError{Stage: StageManifest, What: "event: " + err.Error()}
	}
	j := &Job{target: c.Target, reader: reader, stack: c.Stack, guard: c.Guard, self: c.Self, dir: c.Dir, ports: c.Ports, log: c.Log}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	if j.ports == nil {
		j.ports = NewPorts()
	}
	// It is told to processes that have other working directories.
	if j.files, err = filepath.Abs(c.Files); err != nil {
		return nil, fmt.Errorf("the path of the instances' files: %w", err)
	}
	if err := j.stack.Postgres.Template(ctx, j.makeTemplate); err != nil {
		return nil, fmt.Errorf("prepare the template database: %w", err)
	}
	return j, nil
}

type promise struct {
	Polls int
	Time  time.Duration
}

func (t *trial) promise() promise {
	return promise{Polls: t.job.target.Drain.Polls, Time: t.job.target.Drain.Time()}
}

// consumers are the names whose effects are judged.
func (j *Job) consumers() []string {
	if j.target.Consumer != nil {
		return j.target.Consumer.Names
	}
	return []string{roles.ConsumerName}
}

func (j *Job) appliedQuery() string {
	if j.target.Consumer != nil {
		return j.target.Consumer.Applied
	}
	return roles.ConsumerApplied
}

// roles are the target's own roles: those that the harness plays itself are
// not part of what is tested.
func (j *Job) roles() []string {
	list := []string{"app"}
	if !j.target.Relay.InApp {
		list = append(list, "relay")
	}
	if j.target.Consumer != nil {
		list = append(list, "consumer")
	}
	return list
}

type ownRole struct{ Argv, Env []string }

// ownRole is how to start a role that the harness plays itself, or nil.
func (j *Job) ownRole(role string) (*ownRole, error) {
	var name string
	var settings any
	switch {
	case role == "app" && len(j.target.App.SQL) > 0:
		name, settings = roles.SQLApp, roles.SQLSettings{Statements: j.target.App.SQL}
	case role == "consumer" && j.target.Consumer == nil:
		name, settings = roles.Consumer, roles.ConsumerSettings{Event: j.target.Event}
	default:
		return nil, nil
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("write the settings of the role %s: %w", name, err)
	}
	argv, env := j.self(name)
	return &ownRole{Argv: argv, Env: append(env, roles.SettingsVariable+"="+string(text))}, nil
}
