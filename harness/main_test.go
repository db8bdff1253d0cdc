package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"

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

// polling is the reference that the tests vary.
func polling(t *testing.T) targets.Target {
	t.Helper()
	return find(t, "polling").Target
}

func find(t *testing.T, name string) builtin.Builtin {
	t.Helper()
	b, ok := builtin.Find(name)
	if !ok {
		t.Fatalf("there is no built-in target %q", name)
	}
	return b
}
