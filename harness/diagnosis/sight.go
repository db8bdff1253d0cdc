package diagnosis

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

const (
	postgres = "postgres"
	broker   = "broker"
)

// sight is a history arranged for the steps.
type sight struct {
	history []properties.Event
	facts   Facts
	m       targets.Manifest
	trial   *properties.Trial

	wires map[string]*link // by relay.0/postgres
	lives map[string]*life // by relay.0
	call  *properties.Event
	reply *properties.Event // the answer
	order string            // the token of the order that was placed

	rows     []properties.Row // of the last reading of committed
	readRows bool
	log      []properties.Message
	other    int
	effects  []properties.Effect
	backlog  []properties.Backlog
	pending  *int64
	bypassed []string
}

// life is what became of an instance.
type life struct {
	started, ready time.Duration
	isUp           bool
	exited         string
}

// link is what a link carried.
type link struct {
	opened  int
	opaque  bool
	carried int // exchanges, one-way messages and pushes
	// labels are those of its exchanges, each once, in their order; counts how often
	// each was done.
	labels []string
	counts map[string]int
	writes []string // the labels of those that wrote
	ended  int      // transactions that committed
	errors []string // of the server, each once
}

func look(history []properties.Event, f Facts) *sight {
	x := &sight{history: history, facts: f, m: f.Manifest, trial: &properties.Trial{}, wires: map[string]*link{}, lives: map[string]*life{}}
	for i := range history {
		e := &history[i]
		switch {
		case e.Trial != nil:
			x.trial = e.Trial
			if len(e.Trial.Orders) > 0 {
				x.order = e.Trial.Orders[0]
			}
		case e.Call != nil && e.Call.Order == x.order:
			x.call = e
		case e.Answer != nil && e.Answer.Order == x.order:
			x.reply = e
		case e.Process != nil:
			x.addProcess(e)
		case e.Wire != nil:
			x.linkOf(e.Wire.Link).add(e.Wire)
		case e.Ledger != nil:
			x.addLedger(e.Ledger)
		}
	}
	return x
}

func (x *sight) addProcess(e *properties.Event) {
	l := x.lives[e.Process.Instance]
	if l == nil {
		l = &life{}
		x.lives[e.Process.Instance] = l
	}
	switch e.Process.What {
	case "started":
		l.started = e.At
	case "ready":
		l.ready, l.isUp = e.At, true
	case "exited":
		l.exited = e.Process.Status
	}
}

func (x *sight) addLedger(l *properties.Ledger) {
	switch l.Name {
	case properties.LedgerCommitted:
		// A row that is gone later was there.
		if x.readRows = true; len(l.Committed) > 0 || len(x.rows) == 0 {
			x.rows = l.Committed
		}
	case properties.LedgerLog:
		if l.Final || len(l.Log)+l.Other >= len(x.log)+x.other {
			x.log, x.other = l.Log, l.Other
		}
	case properties.LedgerApplied:
		x.effects = l.Applied
	case properties.LedgerPending:
		x.pending = l.Pending
	case properties.LedgerBroker:
		x.backlog = l.Broker
	case properties.LedgerBackends:
		x.bypassed = append(x.bypassed, l.Bypassed...)
	}
}

func (x *sight) linkOf(name string) *link {
	l := x.wires[name]
	if l == nil {
		l = &link{counts: map[string]int{}}
		x.wires[name] = l
	}
	return l
}

// to is what all instances of a role carried to a server, joined.
func (x *sight) to(role, server string) *link {
	all := &link{counts: map[string]int{}}
	for _, name := range x.linkNames() {
		l := x.wires[name]
		if properties.RoleOf(name) != role || properties.ServerOf(name) != server {
			continue
		}
		all.opened += l.opened
		all.carried += l.carried
		all.ended += l.ended
		all.opaque = all.opaque || l.opaque
		for _, label := range l.labels {
			all.see(label, l.counts[label])
		}
		for _, w := range l.writes {
			all.writes = once(all.writes, w)
		}
		for _, e := range l.errors {
			all.errors = once(all.errors, e)
		}
	}
	return all
}

func (x *sight) linkNames() []string {
	var names []string
	for name := range x.wires {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (l *link) see(label string, times int) {
	if label == "" {
		return
	}
	l.labels = once(l.labels, label)
	l.counts[label] += times
}

func (l *link) add(w *properties.Wire) {
	switch w.What {
	case properties.WireOpen:
		l.opened++
		return
	case properties.WireOpaque:
		l.opaque = true
		return
	case properties.WireRequest:
		l.carried++
		return
	case properties.WireReply, properties.WireAnswered:
		if w.Write {
			l.writes = once(l.writes, w.Label)
		}
		if w.Ended == "commit" {
			l.ended++
		}
		if w.Error != "" {
			l.errors = once(l.errors, w.Label+": "+w.Error)
		}
	case properties.WireOneWay, properties.WirePush:
		l.carried++
	default:
		return
	}
	l.see(w.Label, 1)
}

// once appends what is not there yet.
func once(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// instances are those of a role, in their order.
func (x *sight) instances(role string) []string {
	var names []string
	for name := range x.lives {
		if properties.RoleOf(name) == role {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// relayRole is the role that publishes.
func (x *sight) relayRole() string {
	if x.m.Relay.InApp {
		return targets.RoleApp
	}
	return targets.RoleRelay
}

// logOf is the end of the log of a role's first instance, as evidence.
func (x *sight) logOf(role string) []string {
	text := strings.TrimSpace(x.facts.Logs[role+".0"])
	if text == "" {
		return nil
	}
	const most = 6
	lines := strings.Split(text, "\n")
	var ends []string
	seen := map[string]bool{} // but for its numbers: a relay says the same again and again
	for _, line := range slices.Backward(lines) {
		if key := numbers.ReplaceAllString(line, "0"); seen[key] {
			continue
		} else if seen[key] = true; len(ends) < most {
			ends = append(ends, "log of "+role+".0: "+bounded(line))
		}
	}
	slices.Reverse(ends)
	return ends
}

// numbers stand for times and ids, too.
var numbers = regexp.MustCompile(`[0-9a-f]*[0-9][0-9a-f]*`)

// shown is how much of a text is shown, in bytes.
const shown = 200

func bounded(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= shown {
		return text
	}
	return strings.ToValidUTF8(text[:shown], "") + "..."
}
