package harness

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/harness/whole"
	"github.com/outboxtest/outboxtest/properties"
)

// The ends of the names of what is kept of a violation.
const (
	scenarioEnd = ".yaml"
	historyEnd  = ".jsonl"
	logsEnd     = ".logs"
)

// writeDown tells a violation, and keeps the scenario, the history and the logs of
// its trial while they are there. Which of them cannot be written is told with it:
// a full disk takes nothing away from what was found.
func (r *run) writeDown(v visit, property string, violation properties.Violation, into *report.Violation) *finding {
	x := &finding{property: property, kind: kindOfPoint(v.scenario), violation: into}
	r.tell(x, v, violation, r.keep(x, v, violation))
	r.findings.lock(func() { r.findings.list = append(r.findings.list, x) })
	return x
}

// rewrite puts another trial in the place of the one that a violation was told of.
// The files that are there stay, and the error says why, unless all of them can be
// replaced.
func (r *run) rewrite(x *finding, v visit, violation properties.Violation) error {
	if x.base == "" {
		r.tell(x, v, violation, r.keep(x, v, violation))
		return nil
	}
	if err := replaceFiles(x.base, v, comments(x, violation)); err != nil {
		return err
	}
	r.tell(x, v, violation, kept{scenario: true, history: true})
	return nil
}

// kept says what of a trial was written, and why the rest was not.
type kept struct {
	scenario, history bool
	unkept            error
}

// keep writes the files of a finding that has none, each that it can. Without the
// scenario the others are worth little, and the name is given back.
func (r *run) keep(x *finding, v visit, violation properties.Violation) kept {
	base, err := r.freeName(x.property)
	if err != nil {
		return kept{unkept: fmt.Errorf("its files could not be written: %w", err)}
	}
	x.base = base
	k := writeFiles(base, v, comments(x, violation))
	if !k.scenario {
		x.base = ""
		if err := removeFiles(base); err != nil {
			k.unkept = fmt.Errorf("%w; and an empty file stays: %w", k.unkept, err)
		}
	}
	return k
}

// freeName is a file name under Out that no finding has yet, without extension.
// An empty scenario claims it: several jobs write findings.
func (r *run) freeName(property string) (string, error) {
	dir := filepath.Join(r.options.Out, "failures")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name := r.target.Ref
	if name == "" || strings.ContainsAny(name, `./\`) {
		name = r.target.Name
	}
	for i := 1; ; i++ {
		base := filepath.Join(dir, fmt.Sprintf("%s-%s-%d", name, property, i))
		f, err := os.OpenFile(base+scenarioEnd, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		return base, f.Close()
	}
}

// comments are the head of a finding's scenario.
func comments(x *finding, violation properties.Violation) []string {
	return []string{x.property + ": " + violation.Summary, "replay it: outboxtest replay " + relative(x.base+scenarioEnd)}
}

// writeFiles writes what is kept of a trial. Each file is there whole or not at all.
func writeFiles(base string, v visit, comment []string) kept {
	saved := scenario.Save(base+scenarioEnd, v.scenario, comment...)
	judged := writeHistory(base+historyEnd, v.history)
	logged := whole.Folder(base+logsEnd, v.logs)
	var failed []error
	for _, f := range []struct {
		what string
		err  error
	}{{"the scenario", saved}, {"the history", judged}, {"the logs", logged}} {
		if at, ok := errors.AsType[*whole.Error](f.err); ok {
			failed = append(failed, fmt.Errorf("%s could not be written to %w", f.what, at))
		} else if f.err != nil {
			failed = append(failed, fmt.Errorf("%s could not be written: %w", f.what, f.err))
		}
	}
	return kept{scenario: saved == nil, history: judged == nil, unkept: errors.Join(failed...)}
}

// replaceFiles writes what is kept of a trial in the place of another one's, all of
// it or nothing.
func replaceFiles(base string, v visit, comment []string) error {
	next := base + ".next"
	if k := writeFiles(next, v, comment); k.unkept != nil {
		return errors.Join(k.unkept, removeFiles(next))
	}
	if err := os.RemoveAll(base + logsEnd); err != nil {
		return fmt.Errorf("replace the logs of a failure: %w", err)
	}
	for _, end := range []string{scenarioEnd, historyEnd, logsEnd} {
		if err := os.Rename(next+end, base+end); err != nil {
			return fmt.Errorf("replace a failure: %w", err)
		}
	}
	return nil
}

func removeFiles(base string) (failed error) {
	for _, end := range []string{scenarioEnd, historyEnd, logsEnd} {
		failed = errors.Join(failed, os.RemoveAll(base+end))
	}
	return failed
}

func writeHistory(path string, history []properties.Event) error {
	return whole.File(path, func(w io.Writer) error { return properties.Write(w, history) })
}

// keepLogs copies logs that the next trial would take away to a folder of the
// session, which goes with it.
func (s *Session) keepLogs(from string) (string, error) {
	to, err := os.MkdirTemp(s.dir, "kept-")
	if err == nil {
		err = whole.Folder(filepath.Join(to, "logs"), from)
	}
	if err != nil {
		return "", fmt.Errorf("keep the logs of a chain: %w", err)
	}
	return filepath.Join(to, "logs"), nil
}

// relative is path relative to the working directory where that is possible.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, abs)
	if err != nil {
		rel = ""
	}
	return cmp.Or(rel, path)
}
