// Package gotest_test shows how a Go project tests its outbox: copy the file
// and put your own target in place of polling's.
package gotest_test

import (
	"testing"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/polling"
)

// target describes the outbox under test. Yours is read from its manifest with
// targets.Load, or made here: a targets.Target whose roles are Go functions.
func target() targets.Target { return polling.Target() }

// The harness starts the test binary again for each process under test, so the
// package needs this TestMain.
func TestMain(m *testing.M) { harness.Main(m, target()) }

// Scenario files in testdata/outboxtest are replayed before the sweep: failures
// that were found once are kept there.
func TestOutbox(t *testing.T) {
	harness.Test(t, target(), harness.Options{
		Orders: 1,       // leave it out for the default, 3
		Points: "relay", // leave it out to sweep every role
		Out:    t.TempDir(),
	})
}
