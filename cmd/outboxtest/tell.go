package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/whole"
)

// untoldError says that there is a verdict, and that something which tells it could
// not be written. The rest was.
type untoldError struct{ err error }

func (e *untoldError) Error() string { return e.err.Error() }
func (e *untoldError) Unwrap() error { return e.err }

// untold joins the errors of telling a verdict; nil when there is none.
func untold(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return &untoldError{err}
	}
	return nil
}

// tell leaves the result of a run in its folder, prints the report, and writes
// the JSON object that was asked for. What cannot be written keeps nothing else from
// being told. Without a folder nothing is left.
func tell(dir string, out output, result harness.Result) error {
	var coverage, object error
	if dir != "" {
		coverage, object = leave(dir, result)
	}
	printed := report.Write(out.text, result, out.color)
	if len(result.Matrix) > 0 && dir != "" && coverage == nil && printed == nil {
		_, printed = fmt.Fprintf(out.text, "cell by cell: %s\n", filepath.Join(dir, report.CoverageFile))
	}
	if printed != nil {
		printed = fmt.Errorf("print the report: %w", printed)
	}
	return untold(object, coverage, printed, out.object(result))
}

// leave writes what every run leaves in its folder, besides what it found: the
// crash matrix for people, and the result for merge.
func leave(dir string, r harness.Result) (coverage, object error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder for the result: %w", err), nil
	}
	coverage = whole.File(filepath.Join(dir, report.CoverageFile), func(w io.Writer) error { return report.WriteCoverage(w, r) })
	if coverage != nil {
		coverage = fmt.Errorf("write the coverage: %w", coverage)
	}
	text, object := jsonText(r)
	if object == nil {
		object = whole.Bytes(filepath.Join(dir, report.ResultFile), text)
	}
	if object != nil {
		object = fmt.Errorf("write the result: %w", object)
	}
	return coverage, object
}

// forget removes what an earlier run left under these names: a run that comes to
// no end must not be taken for that one.
func forget(dir string) error {
	for _, name := range []string{report.ResultFile, report.CoverageFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove the result of an earlier run: %w", err)
		}
	}
	return nil
}
