package stack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/outboxtest/outboxtest/faults/proc"
)

// The values of Options.Postgres and Options.Broker that are no URL.
const (
	Auto     = "auto"
	Local    = "local"
	Embedded = "embedded"
)

// NATSRole is the name under which our own binary runs the broker.
const NATSRole = "harness/nats"

// applicationName is how the harness's own connections call themselves.
const applicationName = "outboxtest"

// Options say what to start.
type Options struct {
	// Postgres is auto (or empty): local, then embedded; local: the binaries of
	// this machine; embedded: downloaded once; or a postgres:// URL.
	Postgres string
	// PostgresBin is the folder with the Postgres binaries; empty searches.
	PostgresBin string
	// PostgresSettings are put over those of an own server, as
	// synchronous_commit: off.
	PostgresSettings map[string]string
	// Broker is auto (or empty) and local: a NATS server as a child process; or a
	// nats:// URL.
	Broker string
	// Dir takes the servers' data and logs. It is made, and removed by Close;
	// empty makes one under TempDir.
	Dir string
	// MaxLog bounds the log of a server, see [proc.Spec]; 0 is its default.
	MaxLog int64
	// Guard cleans up when we are killed; nil leaves everything where it is.
	Guard *proc.Guard
	// Role is how to start our own binary again so that it calls [NATSMain]:
	// its command and what to add to our environment. The name is NATSRole.
	Role func(name string) (argv, env []string)
	// Log takes what the stack does; nil discards.
	Log *slog.Logger
	// RunID is in the name of everything made on a server: lower-case letters
	// and digits, unique among the runs that use it at the same time; empty is random.
	RunID string
}

// Stack is one Postgres and one broker.
type Stack struct {
	Postgres *Postgres
	Broker   *NATS

	options Options
	dir     string
	release func() // takes back the guard's order to remove dir
	close   sync.Once
	closed  error
}

var validRunID = regexp.MustCompile(`^[a-z0-9]{1,24}$`)

// Start starts the servers, both at once, or connects to them. The context
// bounds the start only. Close ends what it started, also when the context has
// ended.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.RunID == "" {
		o.RunID = strings.ToLower(rand.Text()[:8])
	}
	if !validRunID.MatchString(o.RunID) {
		return nil, fmt.Errorf("the run id %q is not 1 to 24 lower-case letters and digits", o.RunID)
	}
	s := &Stack{options: o}
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	var servers sync.WaitGroup
	var postgres, broker error
	servers.Go(func() { s.Postgres, postgres = startPostgres(ctx, s) })
	servers.Go(func() { s.Broker, broker = startBroker(ctx, s) })
	servers.Wait()
	if err := errors.Join(postgres, broker); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// makeDir makes the stack's folder, known to the guard before it is there.
func (s *Stack) makeDir() error {
	dir := s.options.Dir
	if dir == "" {
		dir = filepath.Join(TempDir(), "outboxtest-"+s.options.RunID+"-"+rand.Text()[:8])
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("the path of the stack's folder: %w", err)
	}
	if s.release, err = undo(s.options.Guard, undoRemoveAll, dir); err != nil {
		return err
	}
	s.dir = dir
	// Others may pass, to the data folder that belongs to a server's own user.
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return fmt.Errorf("make the stack's folder: %w", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return fmt.Errorf("open the stack's folder to the servers: %w", err)
	}
	return nil
}

// Dir is the folder with the servers' data and logs; it is gone after Close.
func (s *Stack) Dir() string { return s.dir }

// Close drops what the stack made, stops the servers that it started and removes
// its folder. Calling it again returns the same.
func (s *Stack) Close() error {
	s.close.Do(func() {
		var errs []error
		if s.Broker != nil {
			errs = append(errs, s.Broker.close())
		}
		if s.Postgres != nil {
			errs = append(errs, s.Postgres.close())
		}
		if err := os.RemoveAll(s.dir); err != nil {
			errs = append(errs, fmt.Errorf("remove the stack's folder: %w", err))
		} else {
			s.release()
		}
		s.closed = errors.Join(errs...)
	})
	return s.closed
}

// Check returns an error when an own server is not running.
func (s *Stack) Check() error {
	return errors.Join(s.Postgres.check(), s.Broker.check())
}

func isURL(text string) bool { return strings.Contains(text, "://") }
