package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/targets"
)

// Session owns the servers of a run, and the guard that outlives a kill of this
// process. Several targets can be run in one session, one after another. Close
// ends everything that it started.
type Session struct {
	options Options
	guard   *proc.Guard
	stacks  []*stack.Stack
	dir     string
	exe     string
	ports   *trial.Ports

	mu    sync.Mutex
	built map[string]bool // the builds that have succeeded
}

// Open starts the guard and as many stacks as there are jobs.
func Open(ctx context.Context, o Options) (s *Session, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return nil, err
	}
	s = &Session{options: o, ports: trial.NewPorts(), built: map[string]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	if s.exe, err = os.Executable(); err != nil {
		return s, fmt.Errorf("find our own binary: %w", err)
	}
	argv, env := s.self(roles.Guard)
	if s.guard, err = proc.StartGuard(ctx, argv[0], env); err != nil {
		return s, err
	}
	if s.dir, err = os.MkdirTemp(stack.TempDir(), "outboxtest-"); err != nil {
		return s, fmt.Errorf("make a folder for the run: %w", err)
	}
	if _, err = s.guard.Undo("remove-all", s.dir); err != nil {
		return s, err
	}
	// The folder is the way of the servers' own users to their data.
	if err = os.Chmod(s.dir, 0o755); err != nil {
		return s, fmt.Errorf("open the run's folder to the servers: %w", err)
	}
	return s, s.startStacks(ctx)
}

func (s *Session) startStacks(ctx context.Context) error {
	runID := strings.ToLower(rand.Text()[:8])
	s.stacks = make([]*stack.Stack, s.options.Jobs)
	errs := make([]error, s.options.Jobs)
	var wg sync.WaitGroup
	for i := range s.stacks {
		wg.Go(func() {
			s.stacks[i], errs[i] = stack.Start(ctx, stack.Options{
				Postgres: s.options.Postgres, PostgresBin: s.options.PostgresBin, Broker: s.options.Broker,
				Dir:   fmt.Sprintf("%s/job-%d", s.dir, i),
				Guard: s.guard, Role: s.self, Log: s.options.Log,
				RunID: fmt.Sprintf("%s%d", runID, i),
			})
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Close drops what the session made and ends what it started. It can be called
// again.
func (s *Session) Close() error {
	var errs []error
	for i, st := range s.stacks {
		if st != nil {
			errs = append(errs, st.Close())
			s.stacks[i] = nil
		}
	}
	if s.guard != nil {
		errs = append(errs, s.guard.Close())
		s.guard = nil
	}
	if s.dir != "" {
		if err := os.RemoveAll(s.dir); err != nil {
			errs = append(errs, fmt.Errorf("remove the run's folder: %w", err))
		}
		s.dir = ""
	}
	return errors.Join(errs...)
}

// self is how to start our own binary again as a role.
func (s *Session) self(role string) (argv, env []string) {
	return []string{s.exe}, []string{roles.Variable + "=" + role}
}

// jobs prepares one job a stack for a target.
func (s *Session) jobs(ctx context.Context, target targets.Target) ([]executor, error) {
	jobs := make([]executor, len(s.stacks))
	errs := make([]error, len(s.stacks))
	var wg sync.WaitGroup
	for i, st := range s.stacks {
		wg.Go(func() {
			jobs[i], errs[i] = trial.NewJob(ctx, trial.Config{
				Target: target, Stack: st, Guard: s.guard, Self: s.self,
				Dir: fmt.Sprintf("%s/logs-%d", s.dir, i), Files: fmt.Sprintf("%s/files-%d", s.dir, i),
				Ports: s.ports, Log: s.options.Log,
			})
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

func isURL(text string) bool { return strings.Contains(text, "://") }
