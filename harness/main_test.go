package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

func TestMain(m *testing.M) {
	Child(played()...)
	os.Setenv(mainVariable, "1")
	code := m.Run()
	if err := sessions.close(); err != nil {
		fmt.Fprintln(os.Stderr, "close the sessions:", err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// played are the targets whose Go functions this test binary plays when it is
// started again.
func played() []targets.Target {
	var list []targets.Target
	for _, b := range builtin.All() {
		list = append(list, b.Target)
	}
	return append(list, variations()...)
}

// lent are sessions of one stack each that tests which run side by side borrow:
// starting servers for each test would cost more than the tests.
type lent struct {
	free chan *Session

	mu  sync.Mutex
	all []*Session
}

// sessions belong to TestMain, which closes them after the last test.
var sessions = &lent{free: make(chan *Session, runtime.GOMAXPROCS(0))}

// borrow lets the test run beside others and gives it a session of its own until
// it ends.
func borrow(t *testing.T) *Session {
	t.Helper()
	t.Parallel()
	select {
	case s := <-sessions.free:
		t.Cleanup(func() { sessions.free <- s })
		return s
	default:
	}
	// The context of the test would end the servers with it.
	s, err := Open(context.Background(), Options{Jobs: 1})
	if err != nil {
		t.Fatalf("open a session: %v", err)
	}
	sessions.mu.Lock()
	sessions.all = append(sessions.all, s)
	sessions.mu.Unlock()
	t.Cleanup(func() { sessions.free <- s })
	return s
}

func (l *lent) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, s := range l.all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// reference is polling that the tests vary.
func reference(t *testing.T) targets.Target {
	t.Helper()
	target := find(t, "polling").Target
	target.Relay.Replicas = 1 // so that relay.0 has the work that a scenario names
	return target
}

func find(t *testing.T, name string) builtin.Builtin {
	t.Helper()
	b, ok := builtin.Find(name)
	if !ok {
		t.Fatalf("there is no built-in target %q", name)
	}
	return b
}

// variation is one of the targets of these tests.
func variation(t *testing.T, name string) targets.Target {
	t.Helper()
	for _, v := range variations() {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("there is no variation %q", name)
	return targets.Target{}
}

// parse reads a scenario as a user writes it, without its head.
func parse(t *testing.T, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse([]byte("version: 1\ntarget: polling\n" + text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// replays is how often a scenario is executed: OUTBOXTEST_REPLAYS, or a few times.
func replays(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("OUTBOXTEST_REPLAYS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("OUTBOXTEST_REPLAYS is %q: want how often a scenario is executed, such as 20", text)
	}
	return n
}

// attempt executes a scenario a number of times and returns every trial.
func attempt(t *testing.T, s *Session, target targets.Target, sc scenario.Scenario, times int) []visit {
	t.Helper()
	r := prepared(t, s, target)
	visits := make([]visit, times)
	for i := range visits {
		v, err := r.try(t.Context(), 0, sc)
		if err != nil {
			t.Fatal(err)
		}
		visits[i] = v
	}
	return visits
}

// prepared is a run that has executed nothing yet.
func prepared(t *testing.T, s *Session, target targets.Target) *run {
	t.Helper()
	options, err := Options{Out: t.TempDir()}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	target = target.WithDefaults()
	if err := target.Validate(); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.jobs(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return &run{session: s, target: target, options: options, jobs: jobs, findings: newFindings()}
}

// violated are the properties that a trial violates.
func (v visit) violated() []string {
	var names []string
	for _, r := range v.judgement.Results {
		if len(r.Violations) > 0 {
			names = append(names, r.Property)
		}
	}
	return names
}

// told is everything that the judgement says, for a test that has failed.
func (v visit) told() string {
	lines := v.reasons()
	for _, r := range v.judgement.Results {
		for _, x := range r.Violations {
			lines = append(lines, r.Property+": "+x.Summary)
			lines = append(lines, x.Evidence...)
		}
	}
	return strings.Join(lines, "\n")
}
