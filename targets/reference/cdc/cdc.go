// Package cdc has two references that publish by change data capture: a relay
// reads the inserts of a table from a logical replication slot and confirms a
// position only when the broker has acknowledged all that was committed before
// it. In one the table is an outbox, in the other the orders themselves.
package cdc

import (
	"embed"
	"fmt"

	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/polling"
)

//go:embed shared.sql outbox.yaml outbox.sql orders.yaml orders.sql
var files embed.FS

// Target reads an outbox, where each order has two events.
func Target() targets.Target {
	return target("outbox.yaml", App, Relay)
}

// OrdersTarget reads the table of the orders: there is no outbox.
func OrdersTarget() targets.Target {
	return target("orders.yaml", OrdersApp, OrdersRelay)
}

func target(manifest string, app, relay targets.RoleFunc) targets.Target {
	text, err := files.ReadFile(manifest)
	if err != nil {
		panic(fmt.Errorf("read the embedded manifest: %w", err))
	}
	t, err := targets.Parse(manifest, text, files, map[string]targets.RoleFunc{
		targets.RoleApp:      app,
		targets.RoleRelay:    relay,
		targets.RoleConsumer: polling.Consumer,
	})
	if err != nil {
		panic(err)
	}
	return t
}
