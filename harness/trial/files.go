package trial

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// folder is an instance's own, with the files that its manifest writes.
type folder struct {
	path  string
	texts map[string]string // by their paths in it, with slashes
}

// write brings the files to what they are to be. Those that are, are left alone,
// and so is what the instance has put beside them. They may hold passwords: only
// our own user can read them.
func (f folder) write() error {
	for _, name := range slices.Sorted(maps.Keys(f.texts)) {
		path := filepath.Join(f.path, filepath.FromSlash(name))
		if text, err := os.ReadFile(path); err == nil && string(text) == f.texts[name] {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("make the folder of the file %s: %w", name, err)
		}
		if err := os.WriteFile(path, []byte(f.texts[name]), 0o600); err != nil {
			return fmt.Errorf("write the file %s: %w", name, err)
		}
	}
	return nil
}
