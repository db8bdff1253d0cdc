package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// The exit statuses.
const (
	statusPass        = 0
	statusViolated    = 1
	statusUnknown     = 2
	statusBadInput    = 3
	statusLacking     = 4
	statusInterrupted = 130
)

func statusOf(v properties.Verdict) int {
	switch v {
	case properties.Pass:
		return statusPass
	case properties.Fail:
		return statusViolated
	}
	return statusUnknown
}

// inputError says that the command line, or a file that it names, makes no
// sense as it stands.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

// badInput makes an inputError.
func badInput(format string, args ...any) error { return &inputError{fmt.Errorf(format, args...)} }

// usage makes an inputError about the command line itself.
func usage(cmd *cobra.Command, err error) error {
	return badInput("%w\n  see: %s --help", err, cmd.CommandPath())
}

// cleanupError says that something of the run may have stayed behind.
type cleanupError struct{ err error }

func (e *cleanupError) Error() string { return "clean up: " + e.err.Error() }
func (e *cleanupError) Unwrap() error { return e.err }

// status is the exit status of an error. What is neither the user's input nor
// an interruption came from the machine around us.
func (a *app) status(ctx context.Context, err error) int {
	var (
		input    *inputError
		options  *harness.InputError
		target   *trial.TargetError
		manifest targets.Problems
	)
	switch {
	case ctx.Err() != nil:
		return statusInterrupted
	case errors.As(err, &input), errors.As(err, &options), errors.As(err, &target), errors.As(err, &manifest):
		return statusBadInput
	}
	return statusLacking
}

// complain tells the user what went wrong: one message, with the mend where
// whoever found the mistake knew one.
func (a *app) complain(status int, err error) {
	if status != statusInterrupted {
		// Cobra parts suggestions with an empty line.
		fmt.Fprintf(a.errOut, "outboxtest: %s\n", strings.TrimSpace(strings.ReplaceAll(err.Error(), "\n\n", "\n")))
		return
	}
	var cleanup *cleanupError
	if errors.As(err, &cleanup) {
		fmt.Fprintf(a.errOut, "outboxtest: %v\n", cleanup)
	}
	fmt.Fprintln(a.errOut, "outboxtest: interrupted")
}
