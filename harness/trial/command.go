package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/targets"
)

// Build runs the build commands of a target, one after another, each in a process
// group of its own that ends with the context. Their outputs go to logs in the
// folder, which is made. tell, if any, is called before each, and counts those that
// are done. The error is a [*TargetError] with the end of its log when a command
// fails.
func Build(ctx context.Context, target targets.Target, guard *proc.Guard, dir string, tell func(done, total int)) error {
	if len(target.Build) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a folder for the logs of the build: %w", err)
	}
	for i, c := range target.Build {
		if tell != nil {
			tell(i, len(target.Build))
		}
		env := cleanEnvironment()
		for name, value := range c.Env {
			env = append(env, name+"="+value)
		}
		err := command(ctx, StageBuild, proc.Spec{
			Name: fmt.Sprintf("build[%d]", i), Argv: c.Run, Dir: target.CommandDir(c), Env: env, Guard: guard,
			Log: filepath.Join(dir, fmt.Sprintf("build-%d.log", i)),
		}, 0)
		if err != nil {
			return err
		}
	}
	return nil
}

// command runs a command of a stage to its end, which has to be a success, within a
// time if that is not 0.
func command(ctx context.Context, stage Stage, s proc.Spec, within time.Duration) error {
	shown := strings.Join(s.Argv, " ")
	// The log is of this command alone.
	if err := os.Remove(s.Log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	p, err := proc.Start(ctx, s)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &TargetError{Stage: stage, What: hide(err.Error(), s.Secrets), Mend: fmt.Sprintf("check %s in the manifest", s.Name)}
	}
	var spent <-chan time.Time
	if within > 0 {
		timer := time.NewTimer(within)
		defer timer.Stop()
		spent = timer.C
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Kill())
	case <-spent:
		if err := p.Kill(); err != nil {
			return err
		}
		return &TargetError{Stage: stage, What: hide(fmt.Sprintf("%s (%s) did not end within %v", s.Name, shown, within), s.Secrets), Log: logTail(s.Log)}
	}
	if state := p.State(); state.Code != 0 || state.Err != nil {
		return &TargetError{Stage: stage, What: hide(fmt.Sprintf("%s (%s) %s", s.Name, shown, state), s.Secrets), Log: logTail(s.Log)}
	}
	return nil
}
