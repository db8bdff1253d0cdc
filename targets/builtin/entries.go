package builtin

import (
	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/mutants/brokeriddeduplication"
	"github.com/outboxtest/outboxtest/targets/mutants/confirminsidetransaction"
	"github.com/outboxtest/outboxtest/targets/mutants/confirmwhilepublishing"
	"github.com/outboxtest/outboxtest/targets/mutants/effectoutsidetransaction"
	"github.com/outboxtest/outboxtest/targets/mutants/lastidcursor"
	"github.com/outboxtest/outboxtest/targets/mutants/markbeforepublish"
	"github.com/outboxtest/outboxtest/targets/mutants/publishwithoutack"
	"github.com/outboxtest/outboxtest/targets/mutants/retryinmemory"
	"github.com/outboxtest/outboxtest/targets/mutants/savethensend"
	"github.com/outboxtest/outboxtest/targets/mutants/sendinsidetransaction"
	"github.com/outboxtest/outboxtest/targets/mutants/sendthensave"
	"github.com/outboxtest/outboxtest/targets/mutants/shareddeduplication"
	"github.com/outboxtest/outboxtest/targets/mutants/slotmadeanew"
	"github.com/outboxtest/outboxtest/targets/reference/cdc"
	"github.com/outboxtest/outboxtest/targets/reference/polling"
)

// The properties that convict.
const (
	noLostEvent  = "no-lost-event"
	noGhostEvent = "no-ghost-event"
	appliedOnce  = "applied-once"
)

// entry is a Builtin before it is built: the role that differs from its
// reference, if any.
type entry struct {
	name, code, expected, about string
	// reference makes the target that it is, or differs from.
	reference func() targets.Target
	role      string
	run       targets.RoleFunc
}

// entries are in the order of the guide: losses, ghosts, repeats; change data
// capture comes last. The codes follow no order at all.
func entries() []entry {
	return []entry{
		{
			name: "polling", code: "outbox-52",
			about:     "polls with FOR UPDATE SKIP LOCKED, waits for the acknowledgement, then marks",
			reference: polling.Target,
		},
		{
			name: "save-then-send", code: "outbox-17", expected: noLostEvent,
			about:     "the app commits the order and then publishes: a crash between the two loses the event",
			reference: polling.Target, role: targets.RoleApp, run: savethensend.App,
		},
		{
			name: "send-then-save", code: "outbox-63", expected: noGhostEvent,
			about:     "the app publishes and then writes the order: a crash between the two leaves an event without an order",
			reference: polling.Target, role: targets.RoleApp, run: sendthensave.App,
		},
		{
			name: "send-inside-transaction", code: "outbox-08", expected: noGhostEvent,
			about:     "the app publishes inside the transaction: a commit that fails leaves an event without an order",
			reference: polling.Target, role: targets.RoleApp, run: sendinsidetransaction.App,
		},
		{
			name: "mark-before-publish", code: "outbox-91", expected: noLostEvent,
			about:     "the relay marks a row and then publishes it: a crash between the two loses the event",
			reference: polling.Target, role: targets.RoleRelay, run: markbeforepublish.Relay,
		},
		{
			name: "last-id-cursor", code: "outbox-34", expected: noLostEvent,
			about:     "the relay remembers the last id: a lower id that commits later is never read",
			reference: polling.Target, role: targets.RoleRelay, run: lastidcursor.Relay,
		},
		{
			name: "retry-in-memory", code: "outbox-76", expected: noLostEvent,
			about:     "the relay marks a row whose publish failed and keeps the event in memory: its death loses the event",
			reference: polling.Target, role: targets.RoleRelay, run: retryinmemory.Relay,
		},
		{
			name: "publish-without-ack", code: "outbox-29", expected: noLostEvent,
			about:     "the relay publishes without waiting for the acknowledgement: what is lost on the way is marked",
			reference: polling.Target, role: targets.RoleRelay, run: publishwithoutack.Relay,
		},
		{
			name: "dedupe-shared-between-consumers", code: "outbox-45", expected: appliedOnce,
			about:     "two consumers share one record of seen events: the second takes each event for a repeat",
			reference: polling.Target, role: targets.RoleConsumer, run: shareddeduplication.Consumer,
		},
		{
			name: "dedupe-on-broker-id", code: "outbox-80", expected: appliedOnce,
			about:     "the consumer knows a repeat by the broker's number: an event published twice is applied twice",
			reference: polling.Target, role: targets.RoleConsumer, run: brokeriddeduplication.Consumer,
		},
		{
			name: "effect-outside-dedupe-transaction", code: "outbox-13", expected: appliedOnce,
			about:     "the effect is not in the transaction that records the event: a crash between the two loses the effect",
			reference: polling.Target, role: targets.RoleConsumer, run: effectoutsidetransaction.Consumer,
		},
		{
			name: "cdc", code: "outbox-37", reference: cdc.Target,
			about: "reads the outbox from a replication slot, and confirms a position when all before it is with the broker",
		},
		{
			name: "cdc-orders", code: "outbox-74", reference: cdc.OrdersTarget,
			about: "reads the orders themselves from a replication slot: the row is the event",
		},
		{
			name: "confirm-while-publishing", code: "outbox-26", expected: noLostEvent,
			about:     "the relay confirms what it has received while it publishes it: a crash between the two loses the event",
			reference: cdc.Target, role: targets.RoleRelay, run: confirmwhilepublishing.Relay,
		},
		{
			name: "confirm-inside-transaction", code: "outbox-69", expected: noLostEvent,
			about:     "the relay confirms a transaction with each of its rows: a crash between two rows loses those that follow",
			reference: cdc.Target, role: targets.RoleRelay, run: confirminsidetransaction.Relay,
		},
		{
			name: "slot-made-anew", code: "outbox-41", expected: noLostEvent,
			about:     "the relay makes a new slot when it starts: what was committed between the two slots is lost",
			reference: cdc.Target, role: targets.RoleRelay, run: slotmadeanew.Relay,
		},
	}
}
