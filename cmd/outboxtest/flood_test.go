package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/outboxtest/outboxtest/faults/proc"
)

// TestFloods has targets write without end. Neither the verdict changes, nor
// does the harness keep what they write.
func TestFloods(t *testing.T) {
	for _, f := range []struct {
		name, app            string
		floodApp, floodRelay string
		status               int
	}{
		{name: "standard error of a relay", app: "polling-app", floodRelay: "stderr"},
		{name: "standard output of a relay", app: "polling-app", floodRelay: "stdout"},
		{name: "standard error of an app", app: "polling-app", floodApp: "stderr"},
		{name: "lines between the answers", app: "polling-app", floodApp: "stdout"},
		{name: "a line without end before the answers", app: "polling-app", floodApp: "line"},
		{name: "a guilty one", app: "losing-app", floodApp: "stdout", floodRelay: "stderr", status: statusViolated},
	} {
		t.Run(f.name, func(t *testing.T) {
			cmd := command(t, "run", "target.yaml", "--jobs", "1", "--orders", "1", "--faults", "kill", "--points", `app.0/postgres "commit" #1`)
			writeManifest(t, cmd.Dir, fmt.Sprintf(`
app: {start: [%s], stdio: true, env: {%s: '%s'}}
relay: {start: [polling-relay], env: {%s: '%s'}}
`, f.app, floodVariable, f.floodApp, floodVariable, f.floodRelay))
			said, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != f.status {
				t.Errorf("it exits with %d, want %d:\n%s", got, f.status, said)
			}
			if most := maxMemory(t, cmd.ProcessState.SysUsage()); most >= longLine {
				t.Errorf("it took %d MiB of memory", most>>20)
			}
			logs := 0
			err := filepath.WalkDir(filepath.Join(cmd.Dir, ".outboxtest"), func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() || filepath.Ext(path) != ".log" {
					return err
				}
				info, err := e.Info()
				if err != nil {
					return err
				}
				logs++
				// Two lives, and a line each that says what was left out.
				if most := int64(2*proc.DefaultMaxLog + 1000); info.Size() > most {
					t.Errorf("%s has %d bytes", path, info.Size())
				}
				if info.Size() < proc.DefaultMaxLog && filepath.Base(path) == "relay.0.log" {
					t.Errorf("%s has %d bytes: that is no flood", path, info.Size())
				}
				return nil
			})
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if (logs > 0) != (f.status == statusViolated) {
				t.Errorf("it left %d logs", logs)
			}
		})
	}
}

// maxMemory is the most memory that the process, or one that it waited for,
// had at once, in bytes.
func maxMemory(t *testing.T, usage any) int64 {
	t.Helper()
	u, ok := usage.(*syscall.Rusage)
	if !ok {
		t.Fatalf("the usage is a %T", usage)
	}
	if runtime.GOOS == "darwin" {
		return u.Maxrss
	}
	return u.Maxrss << 10
}

// writeManifest writes target.yaml, a polling outbox with the given roles, and
// its schema.
func writeManifest(t *testing.T, dir, roles string) {
	t.Helper()
	schema, err := os.ReadFile(pollingSchema(t))
	if err != nil {
		t.Fatal(err)
	}
	manifest := bytes.TrimSpace([]byte(roles))
	manifest = append([]byte(`name: target
schema: [schema.sql]
committed: SELECT ref, id FROM orders
pending: SELECT count(*) FROM outbox WHERE published_at IS NULL
event: {order: 'body:$.order', id: 'header:Event-Id'}
drain: {polls: 3, seconds: 0.2}
`), manifest...)
	for name, text := range map[string][]byte{"schema.sql": schema, "target.yaml": append(manifest, '\n')} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
