package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// app: it starts and is ready.
func (x *sight) app() Step {
	if step, failed := x.failed(App); failed {
		return step
	}
	if len(x.m.App.SQL) > 0 {
		return x.running(targets.RoleApp, "the harness's own app, for app.sql")
	}
	return x.running(targets.RoleApp, "")
}

// running tells of the instances of a role that they run and are ready.
func (x *sight) running(role, also string) Step {
	names := x.instances(role)
	if len(names) == 0 {
		return Step{State: NotTried}
	}
	var texts []string
	for _, name := range names {
		l := x.lives[name]
		ready := x.process(role).Ready
		switch {
		case l.isUp:
			texts = append(texts, fmt.Sprintf("%s is ready after %s", name, round(l.ready-l.started)))
		case ready != (targets.Ready{}), !x.facts.Whole && x.reply == nil:
			return Step{State: NotTried} // without a ready rule it may yet end at once
		default:
			texts = append(texts, name+" runs")
		}
	}
	if also != "" {
		texts = append(texts, also)
	}
	return fine(strings.Join(texts, ", "))
}

func (x *sight) process(role string) targets.Process {
	switch {
	case role == targets.RoleRelay:
		return x.m.Relay.Process
	case role == targets.RoleConsumer && x.m.Consumer != nil:
		return x.m.Consumer.Process
	case role == targets.RoleApp:
		return x.m.App.Process
	}
	return targets.Process{}
}

// placed: one order is answered ok, or taken to be committed later.
func (x *sight) placed() Step {
	if step, failed := x.failed(Order); failed {
		return step
	}
	if x.call == nil || x.reply == nil {
		return Step{State: NotTried}
	}
	a := x.reply.Answer
	took := round(x.reply.At - x.call.At)
	switch {
	case a.Outcome == properties.OK && a.Accepted:
		return fine(fmt.Sprintf("the app took %s (HTTP 202), and it was committed after %s", x.order, took))
	case a.Outcome == properties.OK:
		return fine(fmt.Sprintf("%s was answered ok after %s", x.order, took))
	case a.Accepted:
		return fine(fmt.Sprintf("the app took %s (HTTP 202)", x.order))
	case a.Outcome == properties.Failed:
		return x.wrong(fmt.Sprintf("the app refused %s: %s", x.order, bounded(a.Error)), x.mendOrder(a.Error), x.logOf(targets.RoleApp)...)
	}
	return x.wrong(fmt.Sprintf("nobody knows what became of %s: %s", x.order, bounded(a.Error)), "see in its log why the app does not answer", x.logOf(targets.RoleApp)...)
}

func (x *sight) mendOrder(said string) string {
	switch {
	case x.unconnected(targets.RoleApp, postgres) && strings.Contains(strings.ToLower(said), "connect"):
		return "have the app connect to the address that it is given: " + address(postgres)
	case len(x.m.App.SQL) > 0:
		return "correct that statement of app.sql: all of them run in one transaction, in the database that the schema made"
	case x.m.App.Stdio:
		return `the app answered {"ok":false} to the request to place it: see its error and its log; docs/stdio.md says what it is asked`
	}
	return "correct the request in app.place, or what the app makes of it"
}

// committed: the order is in the committed query.
func (x *sight) committed() Step {
	if step, failed := x.failed(Committed); failed {
		return step
	}
	if !x.readRows {
		return Step{State: NotTried}
	}
	for _, row := range x.rows {
		if row.Order != x.order {
			continue
		}
		if row.ID == "" {
			return fine(x.order + " is in it")
		}
		return fine(fmt.Sprintf("%s is in it, and its row's own id is %s", x.order, bounded(row.ID)))
	}
	what, mend := x.whyNotCommitted()
	return x.wrong(what, mend, append(x.rowsShown(), x.carriedShown(targets.RoleApp, postgres)...)...)
}

// whyNotCommitted looks for what is wrong where the app answered ok and its order
// is not found.
func (x *sight) whyNotCommitted() (what, mend string) {
	l := x.to(targets.RoleApp, postgres)
	what = fmt.Sprintf("the app answered ok, and committed does not show %s", x.order)
	switch {
	case l.opaque:
		return what + ": the app's connection to Postgres cannot be read", mendOpaque
	case l.carried == 0:
		return what + ": nothing passed between the app and its proxy to Postgres, so that it writes into another database, or nowhere",
			"have the app connect to the address that it is given: " + address(postgres)
	case l.ended == 0 && len(l.writes) == 0:
		return what + ": the app asked Postgres, and wrote nothing",
			"see whether the app commits before it answers; one that commits later answers with HTTP 202"
	case l.ended == 0:
		return what + ": the app wrote, and its transaction was not committed", "commit before the answer; one that commits later answers with HTTP 202"
	}
	wrote := tables(l.writes)
	reads := x.trial.OrderTable
	switch {
	case len(x.rows) > 0:
		return what + fmt.Sprintf(": it returns %s, and none names %s", counted(len(x.rows), "row"), x.order),
			fmt.Sprintf("the first column has to be the one that keeps what app.place, or app.sql, sent as the order: %s, or its UUID %s, or a text with one of them", x.order, targets.UUID(x.order))
	case reads != "" && len(wrote) > 0 && !slices.Contains(wrote, reads):
		return what + fmt.Sprintf(": it reads the table %s, and the app wrote into %s", reads, strings.Join(wrote, ", ")),
			"have committed read the table that keeps the orders"
	}
	return what + fmt.Sprintf(": it returns no row, and the app wrote into %s", orNothing(wrote)),
		"have committed read the table that keeps the orders, and see what its WHERE leaves out"
}

// pendingAsked: the pending query can be asked.
func (x *sight) pendingAsked() Step {
	if step, failed := x.failed(Pending); failed {
		return step
	}
	switch {
	case x.pending != nil:
		return fine(fmt.Sprintf("it can be asked, and says %d", *x.pending))
	case !x.facts.Whole || !x.readRows:
		return Step{State: NotTried}
	}
	return fine("it can be asked")
}

// rowsShown are the first rows that committed returned.
func (x *sight) rowsShown() []string {
	const most = 3
	var lines []string
	for i, row := range x.rows {
		if i == most {
			break
		}
		text := row.Order
		if row.ID != "" {
			text += " | " + row.ID
		}
		lines = append(lines, "committed returned: "+bounded(text))
	}
	if len(lines) == 0 && x.readRows {
		lines = append(lines, "committed returned no row: "+bounded(x.m.Committed))
	}
	return lines
}

// carriedShown is what a role said to a server.
func (x *sight) carriedShown(role, server string) []string {
	l := x.to(role, server)
	if len(l.labels) == 0 {
		return nil
	}
	const most = 12
	var texts []string
	for i, label := range l.labels {
		if i == most {
			texts = append(texts, "...")
			break
		}
		text := label
		if n := l.counts[label]; n > 1 {
			text += fmt.Sprintf(" (%d times)", n)
		}
		texts = append(texts, text)
	}
	lines := []string{fmt.Sprintf("the %s's link to %s carried: %s", role, serverName(server), strings.Join(texts, ", "))}
	for _, e := range l.errors[:min(len(l.errors), 3)] {
		lines = append(lines, fmt.Sprintf("%s answered the %s with an error: %s", serverName(server), role, bounded(e)))
	}
	return lines
}

// tables are those that labels of writing statements name.
func tables(labels []string) []string {
	var list []string
	for _, label := range labels {
		verb, table, _ := strings.Cut(strings.TrimSuffix(label, " idle"), " ")
		switch verb {
		case "insert", "update", "delete", "merge", "copy":
			if table != "" {
				list = once(list, table)
			}
		}
	}
	return list
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "tables that its statements do not name"
	}
	return strings.Join(list, ", ")
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// unconnected reports whether nothing of a role came to a server through a proxy.
func (x *sight) unconnected(role, server string) bool {
	l := x.to(role, server)
	return l.carried == 0 && !l.opaque
}

func serverName(server string) string {
	if server == postgres {
		return "Postgres"
	}
	return "the broker"
}

// address says where a process finds the address of a server.
func address(server string) string {
	if server == postgres {
		return "{{.Postgres.URL}} in the role's env or start, or the variable " + targets.EnvPostgresURL
	}
	return "{{.Broker.URL}} in the role's env or start, or the variable " + targets.EnvBrokerURL
}

const mendOpaque = "turn TLS off for the trial (sslmode=disable, and no tls:// for the broker): the proxies stand on loopback and have to read along"
