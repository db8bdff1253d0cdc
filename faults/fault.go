package faults

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is what a fault does.
type Kind string

// The faults.
const (
	// Kill sends SIGKILL to an instance's process group.
	Kill Kind = "kill"
	// Cut closes every connection of a link; new ones are accepted at once.
	Cut Kind = "cut"
	// Hang lets nothing pass on a link and closes nothing, until it is healed.
	Hang Kind = "hang"
	// Hold keeps one request back until another point has passed.
	Hold Kind = "hold"
)

// Kinds lists every fault with one line about it, in the order of the docs.
func Kinds() []struct {
	Kind  Kind
	About string
} {
	return []struct {
		Kind  Kind
		About string
	}{
		{Kill, "SIGKILL to the instance; what it had not yet got through is dropped"},
		{Cut, "close every connection of the link; new ones are accepted at once"},
		{Hang, "nothing passes on the link and nothing closes, until it is healed"},
		{Hold, "keep one request back until another point has passed"},
	}
}

// Restart says when a killed instance is started again.
type Restart string

// The restarts. They are different states of the database for the new process.
const (
	// Immediately: as soon as the dead process has been waited for. Its
	// connections to the servers are closed as a dying kernel closes them.
	Immediately Restart = "immediately"
	// BackendsGone: when Postgres shows no backend of the dead process.
	BackendsGone Restart = "when backends are gone"
	// BackendsLinger: at once, while the servers still believe in the dead
	// process's connections, as after the loss of a whole host. They are
	// closed when the trial heals.
	BackendsLinger Restart = "while backends linger"
	// Never: not before the trial heals.
	Never Restart = "never"
)

// Then says what follows a fault.
type Then struct {
	// Restart applies to kill; the zero value is Immediately.
	Restart Restart `yaml:"restart,omitempty" json:"restart,omitempty"`
}

// Fault is what is done, where or when, and what follows.
type Fault struct {
	// At is a point on the wire; nil when Clock counts.
	At *Point `json:"at,omitempty"`
	// Clock is a time since the workload began; used when At is nil.
	Clock time.Duration `json:"clock,omitempty"`
	Do    Kind          `json:"do"`
	// On is the link (cut, hang) or the instance (kill) that suffers; the zero
	// value is the link or the instance of the point.
	On   Link `json:"on,omitzero"`
	Then Then `json:"then,omitzero"`
	// Until releases a hold.
	Until *Point `json:"until,omitempty"`
	// Drop names messages of the same instance's other connections that were
	// on their way when the fault fires and never arrive: each is kept back at
	// its moment before, and dropped by the fault.
	Drop []Point `json:"drop,omitempty"`
}

// Instance is the concrete or wildcard instance that the fault is about.
func (f Fault) Instance() Instance { return f.Target().Instance }

// Target is the link that the fault is about; its Server is empty when a kill
// on the clock names an instance only.
func (f Fault) Target() Link {
	if f.On.Role != "" {
		return f.On
	}
	if f.At != nil {
		return f.At.Link
	}
	return Link{}
}

// String is one line: kill at relay.0/postgres "update outbox" #1 unanswered.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(string(f.Do))
	if f.On.Role != "" {
		b.WriteString(" " + f.onText())
	}
	if f.At != nil {
		b.WriteString(" at " + f.At.String())
	} else {
		b.WriteString(" at clock " + f.Clock.String())
	}
	for i, p := range f.Drop {
		if i == 0 {
			b.WriteString(", dropping ")
		} else {
			b.WriteString(" and ")
		}
		b.WriteString(fmt.Sprintf("%s %q #%d", p.Link, p.Label, p.N))
	}
	if f.Until != nil {
		b.WriteString(" until " + f.Until.String())
	}
	if f.Then.Restart != "" && f.Then.Restart != Immediately {
		b.WriteString(", restart " + string(f.Then.Restart))
	}
	return b.String()
}

func (f Fault) onText() string {
	if f.On.Server == "" {
		return f.On.Instance.String()
	}
	return f.On.String()
}

// Validate reports every reason why the fault cannot be done as written: a
// fault that does not apply is refused, never ignored.
func (f Fault) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch f.Do {
	case Kill, Cut, Hang, Hold:
	case "":
		bad("a fault needs do: kill, cut, hang or hold")
	default:
		bad("do: %q is not a fault: use kill, cut, hang or hold", f.Do)
	}
	if f.At == nil {
		if f.Clock < 0 {
			bad("at: clock %v is before the workload begins", f.Clock)
		}
		if f.On.Role == "" {
			bad("%s at a time on the clock must name whom: kill relay.0, or cut relay.0/broker", f.Do)
		}
	}
	if (f.Do == Cut || f.Do == Hang) && f.On.Role != "" && f.On.Server == "" {
		bad("%s %s names no server: use %s/postgres or %s/broker", f.Do, f.On.Instance, f.On.Instance, f.On.Instance)
	}
	if f.Do == Hold {
		if f.At == nil || f.At.Moment != Before {
			bad("hold keeps a request back, so its point has the moment before")
		}
		if f.Until == nil {
			bad("hold needs until: POINT")
		}
	} else if f.Until != nil {
		bad("until belongs to hold, not to %s", f.Do)
	}
	if f.Then.Restart != "" {
		if f.Do != Kill {
			bad("then.restart belongs to kill, not to %s", f.Do)
		}
		switch f.Then.Restart {
		case Immediately, BackendsGone, BackendsLinger, Never:
		default:
			bad("then.restart %q: use %q, %q, %q or %q", f.Then.Restart, Immediately, BackendsGone, BackendsLinger, Never)
		}
	}
	for _, p := range f.Drop {
		if f.Do != Kill && f.Do != Cut {
			bad("drop belongs to kill and cut, not to %s", f.Do)
		}
		if p.Link.Role != f.Instance().Role {
			bad("drop %s: only messages of the faulted instance %s can be dropped with it", p, f.Instance())
		}
	}
	return errors.Join(errs...)
}
