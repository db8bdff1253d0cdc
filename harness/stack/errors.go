package stack

import (
	"errors"
	"net/url"
	"strings"
)

var (
	// ErrMissing is wrapped by the error that says what this machine lacks to
	// run a server.
	ErrMissing = errors.New("the environment lacks something")
	// ErrUnknown says that a server given by URL does not let us know.
	ErrUnknown = errors.New("a server given by URL does not tell")
	// ErrNotOurs says that a fault was asked of a server given by URL.
	ErrNotOurs = errors.New("the server was given by URL: the harness does not kill what it did not start")
)

// MissingError says that a server cannot be had here. It wraps ErrMissing.
type MissingError struct {
	// What is missing: Postgres.
	What string
	// Tried are the ways that were tried, in their order.
	Tried []Attempt
	// Mend is what to install or give.
	Mend string
}

// Attempt is a way to a server, and why it failed.
type Attempt struct {
	Way string
	Err error
}

// Error names each way on a line of its own.
func (e *MissingError) Error() string {
	var text strings.Builder
	text.WriteString("no " + e.What + " to be had:")
	for _, a := range e.Tried {
		text.WriteString("\n  " + a.Way + ": " + strings.ReplaceAll(a.Err.Error(), "\n", "\n    "))
	}
	return text.String() + "\n  mend: " + e.Mend
}

// Unwrap leads to ErrMissing and to the error of each way.
func (e *MissingError) Unwrap() []error {
	errs := []error{ErrMissing}
	for _, a := range e.Tried {
		errs = append(errs, a.Err)
	}
	return errs
}

// redactURL is a URL without its password, for errors and logs.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		// The error of Parse quotes the text; nothing of it is safe to show.
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://..."
	}
	for key := range u.Query() {
		if strings.Contains(strings.ToLower(key), "password") {
			q := u.Query()
			q.Set(key, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	if u.User != nil {
		if _, ok := u.User.Password(); !ok && u.Scheme != "postgres" && u.Scheme != "postgresql" {
			// A user without a password is a token to NATS.
			u.User = url.User("xxxxx")
		}
	}
	return u.Redacted()
}
