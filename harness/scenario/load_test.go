package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that nobody wrote as a scenario is refused before a parser takes it.
func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"long": {"version: 1\n" + strings.Repeat("# more\n", 1<<20/7), "it is longer than 1 MiB"},
		"deep": {"version: 1\nworkload: " + strings.Repeat("[", 20000), "line 2: lists and mappings are in each other more than 100 deep"},
	} {
		path := filepath.Join(t.TempDir(), name+".yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %.300v", name, err)
		}
	}
}
