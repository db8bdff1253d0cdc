package targets

import (
	"strings"
	"time"
)

// Ready tells when an instance is up. At most one field is set.
type Ready struct {
	// Get is a path that is asked for by HTTP on the instance's port, until the
	// answer is a 2xx. It is written "GET /path".
	Get string `yaml:"-"`
	// Port: the instance's port takes connections. It is written "port".
	Port bool `yaml:"-"`
	// Log is a regular expression for a line of the standard output or the
	// standard error.
	Log string `yaml:"log"`
}

// readyPort is the scalar form of Ready.Port.
const readyPort = "port"

const readyMend = `write "GET /path" for a 2xx by HTTP, "port" for a port that takes connections, or {log: REGEXP} for a line of its log; leave the key out if there is nothing to wait for`

func (*Ready) mend() string { return readyMend }

func (r *Ready) setScalar(word string) bool {
	path, isGet := strings.CutPrefix(word, "GET ")
	switch {
	case word == readyPort:
		r.Port = true
	case isGet && strings.HasPrefix(path, "/") && !blankWithin(path):
		r.Get = path
	default:
		return false
	}
	return true
}

// defaultReadySeconds is generous to a JVM on a busy machine.
const defaultReadySeconds = 30

// StartBudget is how long an instance may take to be ready: ready-within, or 30
// seconds.
func (p Process) StartBudget() time.Duration {
	if p.ReadyWithin == 0 {
		return defaultReadySeconds * time.Second
	}
	return time.Duration(p.ReadyWithin * float64(time.Second))
}

// blankWithin tells whether a text has white space or control characters in it.
func blankWithin(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
