// Package polling is a small correct transactional outbox: the target that
// every mutant is a few lines away from.
//
// The app writes the order and its event in one transaction. The relay polls
// the outbox: it claims unpublished rows with FOR UPDATE SKIP LOCKED, publishes
// each and waits for the broker's acknowledgement, marks them, and commits. A
// crash anywhere leaves an event unpublished, to be published later, or
// published and unmarked, to be published again; the consumer records the
// event's id in the transaction of its effect, so that a repeat changes nothing.
// Any number of relays may run.
package polling

import (
	"embed"
	"fmt"

	"github.com/outboxtest/outboxtest/targets"
)

//go:embed manifest.yaml schema.sql
var files embed.FS

// Target is the manifest of this folder with its three roles as Go functions.
// It panics when the manifest that was compiled in is not sound, which a test
// rules out.
func Target() targets.Target {
	text, err := files.ReadFile("manifest.yaml")
	if err != nil {
		panic(fmt.Errorf("read the embedded manifest: %w", err))
	}
	t, err := targets.Parse("manifest.yaml", text, files, map[string]targets.RoleFunc{
		targets.RoleApp:      App,
		targets.RoleRelay:    Relay,
		targets.RoleConsumer: Consumer,
	})
	if err != nil {
		panic(err)
	}
	return t
}
