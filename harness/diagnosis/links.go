package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// links: what every instance said passed its proxies and was read.
func (x *sight) links() Step {
	if step, failed := x.failed(Links); failed {
		return step
	}
	if !x.facts.Whole {
		return Step{State: NotTried}
	}
	if opaque := x.opaque(); len(opaque) > 0 {
		return x.wrong(strings.Join(opaque, ", ")+" could not be read: no fault can be placed there", mendOpaque)
	}
	for _, name := range x.linkNames() {
		role, server := properties.RoleOf(name), properties.ServerOf(name)
		if !x.expected(role, server) || x.wires[name].carried > 0 {
			continue
		}
		return x.wrong(fmt.Sprintf("nothing passed on %s: %s uses another address%s", name, properties.InstanceOf(name), x.past()),
			fmt.Sprintf("have the %s connect to the address that it is given: %s", role, address(server)))
	}
	for _, role := range []string{targets.RoleApp, targets.RoleRelay, targets.RoleConsumer} {
		for _, server := range []string{postgres, broker} {
			if x.expected(role, server) && x.unconnected(role, server) {
				return x.wrong(fmt.Sprintf("nothing passed between the %s and its proxy to %s: it uses another address%s", role, serverName(server), x.past()),
					fmt.Sprintf("have the %s connect to the address that it is given: %s", role, address(server)))
			}
		}
	}
	if len(x.bypassed) > 0 {
		return x.wrong("past the proxies came "+strings.Join(x.bypassed, ", "),
			fmt.Sprintf("see which of its processes uses an address of its own; have it use %s; and %s", address(postgres), address(broker)))
	}
	// What the judgement asks of a run without faults, beside what the steps asked.
	if reasons := properties.Earned(x.history); len(reasons) > 0 {
		return x.wrong(reasons[0], "until this is seen no pass is earned", reasons[1:]...)
	}
	var texts []string
	for _, name := range x.linkNames() {
		if x.wires[name].carried > 0 && slices.Contains(x.trial.Roles, properties.RoleOf(name)) {
			texts = append(texts, name)
		}
	}
	return fine(strings.Join(texts, ", ") + ": all of it was read")
}

// expected reports whether the role has to be seen at the server.
func (x *sight) expected(role, server string) bool {
	if !slices.Contains(x.trial.Roles, role) {
		return false
	}
	switch role {
	case targets.RoleApp:
		return server == postgres || x.m.Relay.InApp
	case targets.RoleConsumer:
		return server == broker
	}
	return true
}

func (x *sight) opaque() []string {
	var names []string
	for _, name := range x.linkNames() {
		if x.wires[name].opaque {
			names = append(names, name)
		}
	}
	return names
}
