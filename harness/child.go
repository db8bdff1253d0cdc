package harness

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/targets"
)

// Child plays the role that the environment names and ends the process with
// it; when there is none it returns at once. A program that opens a [Session]
// calls it first in main, with the targets that have Go functions for roles:
// the harness starts the program again for each of them.
func Child(list ...targets.Target) {
	role := os.Getenv(roles.Variable)
	if role == "" {
		return
	}
	if err := play(role, list); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(role string, list []targets.Target) error {
	ctx := context.Background()
	switch role {
	case roles.Guard:
		return proc.GuardMain(os.Stdin, os.Stdout, stack.Undo())
	case stack.NATSRole:
		return stack.NATSMain(ctx)
	case roles.SQLApp:
		return roles.RunSQLApp(ctx)
	case roles.Consumer:
		return roles.RunConsumer(ctx)
	}
	for _, t := range list {
		for name, run := range t.Go {
			if roles.Target(t.Name, name) == role {
				return run(ctx)
			}
		}
	}
	return fmt.Errorf("this binary has no such role: its targets are given to harness.Child or harness.Main")
}

// Main is the TestMain of a package that uses [Test]: it plays a role when the
// test binary was started again for one, and runs the tests otherwise.
func Main(m *testing.M, list ...targets.Target) {
	Child(list...)
	os.Setenv(mainVariable, "1")
	os.Exit(m.Run())
}

// mainVariable tells Test that Main is in place: without it every start of a
// role would run the tests again.
const mainVariable = "OUTBOXTEST_MAIN"
