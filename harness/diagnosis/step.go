package diagnosis

import (
	"time"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// The names of the steps, in their order.
const (
	Manifest   = "manifest"   // it can be read and makes sense
	Servers    = "servers"    // what is installed, and which stack is used
	Build      = "build"      // the build commands succeed
	Schema     = "schema"     // the template database is made
	App        = "app"        // the app starts and is ready
	Order      = "order"      // one order is placed and answered
	Committed  = "committed"  // it is seen in the committed query
	Pending    = "pending"    // the pending query can be asked; where there is one
	Relay      = "relay"      // the relay starts and is ready
	Event      = "event"      // one event is seen in the broker
	Understood = "understood" // its order and its id are read from it
	Applied    = "applied"    // one effect of each consumer is seen
	Links      = "links"      // everything passed the proxies and was read
)

// Names are the steps of a target, in their order.
func Names(m targets.Manifest) []string {
	names := []string{Manifest, Servers}
	if len(m.Build) > 0 {
		names = append(names, Build)
	}
	names = append(names, Schema, App, Order, Committed)
	if m.Pending != "" {
		names = append(names, Pending)
	}
	return append(names, Relay, Event, Understood, Applied, Links)
}

// State is what became of a step.
type State string

// The states.
const (
	OK       State = "ok"
	Wrong    State = "wrong"
	NotTried State = "not tried"
)

// Step is one step and what became of it.
type Step struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// What says what was seen, Mend what to change where that was wrong.
	What string `json:"what,omitempty"`
	Mend string `json:"mend,omitempty"`
	// Evidence are lines to look at: rows, the beginning of a message, a log.
	Evidence []string `json:"evidence,omitempty"`
	// Seen: what is wrong was seen in the history, and no error told it.
	Seen bool `json:"-"`
	// Outbox: it may be the outbox itself that is wrong, and not its manifest.
	Outbox bool `json:"-"`
}

// Failure is an error that tells its step itself.
type Failure struct {
	Step, What, Mend string
	Evidence         []string
}

// Message is a message of the broker.
type Message struct {
	// Link, Conn and Exchange are of its publish in the history; zero for one of the
	// log.
	Link     string
	Conn     int
	Exchange uint64
	Position uint64
	Subject  string
	Header   map[string][]string
	Body     []byte // or its beginning
}

// Facts are what is known beside the history of a trial.
type Facts struct {
	// Manifest is the target's.
	Manifest targets.Manifest
	// Failures are the errors of the trial.
	Failures []Failure
	// Published are the first messages on links, Stored the first of the log.
	Published, Stored []Message
	// Subjects are what the trial's stream takes.
	Subjects []string
	// Logs are the ends of the instances' logs, by their names.
	Logs map[string]string
	// Whole: the trial has ended, and what was not seen until now is not there.
	Whole bool
}

// Steps tells what became of each step from the app's start on, those before being
// known without a history. After the first one that is wrong, or of which nothing is
// known yet, no other is tried.
func Steps(history []properties.Event, f Facts) []Step {
	x := look(history, f)
	judge := map[string]func() Step{
		App: x.app, Order: x.placed, Committed: x.committed, Pending: x.pendingAsked, Relay: x.relay,
		Event: x.event, Understood: x.understood, Applied: x.applied, Links: x.links,
	}
	var steps []Step
	stopped := false
	for _, name := range Names(f.Manifest) {
		do, ours := judge[name]
		if !ours {
			continue
		}
		step := Step{State: NotTried}
		if !stopped {
			step = do()
		}
		stopped = stopped || step.State != OK
		step.Name = name
		steps = append(steps, step)
	}
	return x.caught(steps)
}

// caught lets an error of a later step stand where the steps before it were never
// tried because of it.
func (x *sight) caught(steps []Step) []Step {
	if !x.facts.Whole {
		return steps
	}
	for _, s := range steps {
		if s.State == Wrong {
			return steps
		}
	}
	for i, s := range steps {
		if f, found := x.failed(s.Name); found {
			steps[i] = f
			return steps
		}
	}
	// What no step explains is not sound all the same.
	for i, s := range steps {
		if s.State == OK {
			continue
		}
		steps[i] = x.wrong("the trial did not come so far, and nothing tells why", "run it again with --verbose")
		steps[i].Name = s.Name
		if len(x.facts.Failures) > 0 {
			f := x.facts.Failures[0]
			steps[i] = Step{Name: s.Name, State: Wrong, What: f.What, Mend: f.Mend, Evidence: f.Evidence}
		}
		break
	}
	return steps
}

// failed is the step of a failure.
func (x *sight) failed(name string) (Step, bool) {
	for _, f := range x.facts.Failures {
		if f.Step == name {
			return Step{Name: name, State: Wrong, What: f.What, Mend: f.Mend, Evidence: f.Evidence}, true
		}
	}
	return Step{}, false
}

func fine(what string) Step { return Step{State: OK, What: what} }

// wrong is for what a trial did not show: until it has ended nothing is known.
func (x *sight) wrong(what, mend string, evidence ...string) Step {
	if !x.facts.Whole {
		return Step{State: NotTried}
	}
	return Step{State: Wrong, What: what, Mend: mend, Evidence: evidence, Seen: true}
}

// round makes a time short to read.
func round(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
