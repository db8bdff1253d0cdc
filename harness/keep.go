package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/outboxtest/outboxtest/properties"
)

// freeName is a file name under Out that no finding has yet, without extension.
func (r *run) freeName(property string) (string, error) {
	dir := filepath.Join(r.options.Out, "failures")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for failures: %w", err)
	}
	name := r.target.Ref
	if name == "" || strings.ContainsAny(name, `./\`) {
		name = r.target.Name
	}
	for i := 1; ; i++ {
		base := filepath.Join(dir, fmt.Sprintf("%s-%s-%d", name, property, i))
		// Creating the file claims the name: several jobs write findings.
		f, err := os.OpenFile(base+".yaml", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("write a failure: %w", err)
		}
		return base, f.Close()
	}
}

func writeHistory(path string, history []properties.Event) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write a history: %w", err)
	}
	if err := properties.Write(f, history); err != nil {
		f.Close()
		return fmt.Errorf("write the history %s: %w", path, err)
	}
	return f.Close()
}

func copyLogs(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("replace the logs %s: %w", to, err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("keep the logs of a failure: %w", err)
	}
	return nil
}

// keepLogs copies logs that the next trial would take away to a folder of the
// session, which goes with it.
func (s *Session) keepLogs(from string) (string, error) {
	to, err := os.MkdirTemp(s.dir, "kept-")
	if err != nil {
		return "", fmt.Errorf("keep the logs of a chain: %w", err)
	}
	return to, copyLogs(from, to)
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
	if rel, err := filepath.Rel(wd, abs); err == nil {
		return rel
	}
	return path
}
