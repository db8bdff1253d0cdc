package faults

import (
	"fmt"
	"strconv"
	"strings"
)

// Server names one of the two servers that an instance talks to.
type Server string

// The two servers of a trial.
const (
	Postgres Server = "postgres"
	Broker   Server = "broker"
)

// Any is the index of an [Instance] that stands for whichever replica gets
// there first; it is written "*".
const Any = -1

// Instance names one process of a role: relay.0. With Index [Any] it names
// every replica of the role: relay.*.
type Instance struct {
	Role  string
	Index int
}

func (i Instance) String() string {
	if i.Index == Any {
		return i.Role + ".*"
	}
	return i.Role + "." + strconv.Itoa(i.Index)
}

// Matches reports whether the concrete instance other is i, or one of the
// replicas that i stands for.
func (i Instance) Matches(other Instance) bool {
	return i.Role == other.Role && (i.Index == Any || i.Index == other.Index)
}

// MarshalText writes the instance as relay.0 or relay.*.
func (i Instance) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads what [Instance.MarshalText] writes.
func (i *Instance) UnmarshalText(text []byte) error {
	parsed, err := ParseInstance(string(text))
	if err == nil {
		*i = parsed
	}
	return err
}

// ParseInstance reads relay.0 or relay.*.
func ParseInstance(text string) (Instance, error) {
	role, index, ok := strings.Cut(text, ".")
	if !ok || !isRole(role) {
		return Instance{}, fmt.Errorf("%q is not an instance: want ROLE.INDEX, such as relay.0 or relay.*", text)
	}
	if index == "*" {
		return Instance{Role: role, Index: Any}, nil
	}
	n, err := strconv.Atoi(index)
	if err != nil || n < 0 || strconv.Itoa(n) != index {
		return Instance{}, fmt.Errorf("%q is not an instance: the index after the dot is a whole number from 0, or *", text)
	}
	return Instance{Role: role, Index: n}, nil
}

// isRole reports whether text is one of the roles that a manifest can have.
func isRole(text string) bool {
	return text == "app" || text == "relay" || text == "consumer"
}

// Link names the connections between one instance and one server:
// relay.0/postgres.
type Link struct {
	Instance
	Server Server
}

func (l Link) String() string { return l.Instance.String() + "/" + string(l.Server) }

// Matches reports whether the concrete link other is l, or the same link of
// one of the replicas that l stands for.
func (l Link) Matches(other Link) bool {
	return l.Server == other.Server && l.Instance.Matches(other.Instance)
}

// MarshalText writes the link as relay.0/postgres.
func (l Link) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what [Link.MarshalText] writes.
func (l *Link) UnmarshalText(text []byte) error {
	parsed, err := ParseLink(string(text))
	if err == nil {
		*l = parsed
	}
	return err
}

// ParseLink reads relay.0/postgres or relay.*/broker.
func ParseLink(text string) (Link, error) {
	instance, server, ok := strings.Cut(text, "/")
	if !ok {
		return Link{}, fmt.Errorf("%q is not a link: want INSTANCE/SERVER, such as relay.0/postgres", text)
	}
	i, err := ParseInstance(instance)
	if err != nil {
		return Link{}, err
	}
	switch s := Server(server); s {
	case Postgres, Broker:
		return Link{Instance: i, Server: s}, nil
	}
	return Link{}, fmt.Errorf("%q is not a link: the server is postgres or broker, not %q", text, server)
}

// Moment is a point in the life of one exchange.
type Moment string

// The moments. A one-way message has no Unanswered. A server's own message has
// Before (withheld from the client) and After.
const (
	// Before: the proxy has the whole request and delivers nothing of it that
	// the server could act on.
	Before Moment = "before"
	// Unanswered: the request was delivered and processed; the reply is at the
	// proxy and is withheld.
	Unanswered Moment = "unanswered"
	// After: the reply was delivered.
	After Moment = "after"
)

// Point is one moment of one exchange: which link, which label, the how
// many-th exchange of that label on the link since the start of the trial
// (from 1, across restarts), and the moment.
type Point struct {
	Link   Link
	Label  string
	N      int
	Moment Moment
}

func (p Point) String() string {
	return fmt.Sprintf("%s %q #%d %s", p.Link, p.Label, p.N, p.Moment)
}

// MarshalText writes the point as relay.0/postgres "update outbox" #1 unanswered.
func (p Point) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what [Point.MarshalText] writes.
func (p *Point) UnmarshalText(text []byte) error {
	parsed, err := ParsePoint(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// ParsePoint reads one line: LINK "LABEL" #N MOMENT. #N may be left out and is
// then #1. An error says which part is wrong and what it should be.
func ParsePoint(text string) (Point, error) {
	const form = `want LINK "LABEL" #N MOMENT, such as relay.0/postgres "update outbox" #1 unanswered`
	link, rest, ok := strings.Cut(strings.TrimSpace(text), " ")
	if !ok {
		return Point{}, fmt.Errorf("%q is not a point: %s", text, form)
	}
	p := Point{N: 1}
	var err error
	if p.Link, err = ParseLink(link); err != nil {
		return Point{}, fmt.Errorf("point %q: %w", text, err)
	}
	rest = strings.TrimSpace(rest)
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return Point{}, fmt.Errorf("%q is not a point: the label is in double quotes; %s", text, form)
	}
	if p.Label, err = strconv.Unquote(quoted); err != nil || p.Label == "" {
		return Point{}, fmt.Errorf("%q is not a point: its label cannot be read; %s", text, form)
	}
	fields := strings.Fields(rest[len(quoted):])
	if len(fields) == 2 && strings.HasPrefix(fields[0], "#") {
		n, err := strconv.Atoi(fields[0][1:])
		if err != nil || n < 1 {
			return Point{}, fmt.Errorf("point %q: the occurrence %s is not a whole number from 1", text, fields[0])
		}
		p.N, fields = n, fields[1:]
	}
	if len(fields) != 1 {
		return Point{}, fmt.Errorf("%q is not a point: %s", text, form)
	}
	switch p.Moment = Moment(fields[0]); p.Moment {
	case Before, Unanswered, After:
		return p, nil
	}
	return Point{}, fmt.Errorf("point %q: the moment is before, unanswered or after, not %q", text, fields[0])
}
