package targets

import (
	"fmt"
	"slices"
	"strings"
)

const driverForms = "stdio if the app's own process takes orders on its standard input, place if it takes them by HTTP, sql if the harness is to write them"

func checkApp(t Target, f *findings) {
	a := t.App
	var drivers []string
	for _, d := range []struct {
		name string
		set  bool
	}{{"stdio", a.Stdio}, {"place", len(a.Place) > 0}, {"sql", len(a.SQL) > 0}} {
		if d.set {
			drivers = append(drivers, d.name)
		}
	}
	switch {
	case len(drivers) == 0 && f.spoiled("app"):
	case len(drivers) == 0:
		f.add("app", "none of stdio, place and sql is set; write one of them: %s", driverForms)
	case len(drivers) > 1:
		f.add("app", "%s are set; keep one of them: %s", strings.Join(drivers, and), driverForms)
	case a.Stdio:
		checkProcess(t, RoleApp, a.Process, f)
		if len(a.AbortBy) > 0 {
			f.add("app.abort", "the app takes orders on its standard input, not by HTTP; write true if it can roll one back")
		}
	case len(a.Place) > 0:
		checkProcess(t, RoleApp, a.Process, f)
		checkPlace(a, f)
	default:
		checkSQL(t, f)
	}
}

func checkSQL(t Target, f *findings) {
	a := t.App
	for i, statement := range a.SQL {
		key := fmt.Sprintf("app.sql[%d]", i)
		if text(f, key, statement, "a statement") {
			checkTemplate(f, key, statement, statementNames())
		}
	}
	if len(a.Start) > 0 || a.Dir != "" || len(a.Env) > 0 || t.Go[RoleApp] != nil {
		f.add("app", "sql is run by the harness's own process; leave out start, dir and env")
	}
	if len(a.Files) > 0 || a.Ready != (Ready{}) || a.ReadyWithin != 0 {
		f.add("app", "sql is run by the harness's own process; leave out files, ready and ready-within")
	}
	if a.Abort || len(a.AbortBy) > 0 {
		f.add("app.abort", "the harness can roll sql back without it; leave it out")
	}
	if a.Replicas < 0 || a.Replicas > 1 {
		f.add("app.replicas", "the harness starts as many apps as a workload needs; leave it out")
	}
}

func checkRelay(t Target, f *findings) {
	if !t.Relay.InApp {
		checkProcess(t, RoleRelay, t.Relay.Process, f)
		if limit := t.Limits.Replicas; limit > 0 && t.Relay.Replicas > limit {
			f.add("relay.replicas", "%d relays are more than limits.replicas allows, which is %d", t.Relay.Replicas, limit)
		}
		return
	}
	if len(t.App.SQL) > 0 {
		f.add("relay", "the app's process cannot publish, since sql is run by the harness; say what to start: {start: [./relay]}")
	}
	if len(t.Relay.Start) > 0 || t.Relay.Replicas > 1 || t.Go[RoleRelay] != nil {
		f.add("relay", "the app's process is the relay; leave out start and replicas, or do not say so")
	}
}

func checkConsumer(t Target, f *findings) {
	c := t.Consumer
	if c == nil {
		if t.Go[RoleConsumer] != nil && !f.spoiled("consumer") {
			f.add("consumer", "there is a Go function for it and nothing to judge it by; write names and applied")
		}
		return
	}
	checkProcess(t, RoleConsumer, c.Process, f)
	if len(c.Names) == 0 && !f.spoiled("consumer.names") {
		f.add("consumer.names", "it is missing; list the consumers as the applied query spells them")
	}
	for i, name := range c.Names {
		key := fmt.Sprintf("consumer.names[%d]", i)
		if text(f, key, name, "a consumer's name") && slices.Contains(c.Names[:i], name) {
			f.add(key, "%q is listed twice", name)
		}
	}
	text(f, "consumer.applied", c.Applied,
		"the query for the effects: event id, consumer, and their number, such as SELECT event_id, consumer, count(*) FROM effects GROUP BY 1, 2")
}

// eachRole visits the roles that are processes of the target.
func eachRole(t Target, visit func(role string, p Process)) {
	visit(RoleApp, t.App.Process)
	if !t.Relay.InApp {
		visit(RoleRelay, t.Relay.Process)
	}
	if t.Consumer != nil {
		visit(RoleConsumer, t.Consumer.Process)
	}
}
