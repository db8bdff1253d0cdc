// Command outboxtest finds out what a transactional outbox does to its events
// when processes die and connections break. `outboxtest --help` says how to use
// it; docs/json.md says what --json writes.
//
// The command parses, calls harness, and prints. Its exit status is 0 for a
// pass, 1 for a violation, 2 for unknown, 3 for bad input, 4 when the
// environment lacks something, and 130 when it was interrupted.
package main

import (
	"os"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

func main() {
	// The harness starts this binary again for its own roles and for those of
	// the built-in targets: nothing may happen before this.
	harness.Child(builtinTargets()...)
	os.Exit(newApp(os.Stdin, os.Stdout, os.Stderr).run(os.Args[1:]))
}

func builtinTargets() []targets.Target {
	var list []targets.Target
	for _, b := range builtin.All() {
		list = append(list, b.Target)
	}
	return list
}
