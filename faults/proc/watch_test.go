//go:build linux

package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLineWatch(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, c := range []struct {
		name  string
		parts []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"one line", []string{"up\n"}, []string{"up"}},
		{"split anywhere", []string{"u", "p\nan", "d on\n"}, []string{"up", "and on"}},
		{"several at once", []string{"a\n\nb\n"}, []string{"a", "", "b"}},
		{"ends of Windows", []string{"a\r", "\nb\r\n"}, []string{"a", "b"}},
		{"without an end", []string{"a\nb"}, []string{"a", "b"}},
		{"too long", []string{long, "y\nz\n"}, []string{long, "z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			w := &lineWatch{tell: func(line string) { got = append(got, line) }}
			for _, part := range c.parts {
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			w.end()
			if !slices.Equal(got, c.want) {
				t.Errorf("got %d lines, want %d: %.80q", len(got), len(c.want), got)
			}
		})
	}
}

// Both outputs are watched, whoever else reads them, and the log has a line
// before its watcher.
func TestWatch(t *testing.T) {
	for _, stdout := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "log")
		lines := make(chan string, 3)
		p := begin(t, Spec{
			Name: "talker", Argv: []string{"sh", "-c", "echo one; echo two >&2; printf three"}, Log: path, Stdout: stdout,
			Watch: func(line string) {
				if text, err := os.ReadFile(path); err != nil || line == "two" && !strings.Contains(string(text), "two\n") {
					t.Errorf("the log is %q when %q is told: %v", text, line, err)
				}
				lines <- line
			},
		})
		<-p.Done()
		close(lines)
		var got []string
		for line := range lines {
			got = append(got, line)
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"one", "three", "two"}) {
			t.Errorf("standard output asked for: %v: got %q", stdout, got)
		}
	}
}
