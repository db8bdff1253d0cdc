package trial

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFilesAreWrittenWhereTheyAreNotAsTheyAreToBe(t *testing.T) {
	f := folder{path: filepath.Join(t.TempDir(), "app.0"), texts: map[string]string{
		"app.properties": "password=x", "conf/deep/a.yaml": "a: 1", "empty": "",
	}}
	past := time.Unix(1e9, 0)
	at := func(name string) string { return filepath.Join(f.path, filepath.FromSlash(name)) }
	write := func() (written []string) {
		t.Helper()
		if err := f.write(); err != nil {
			t.Fatal(err)
		}
		for name, want := range f.texts {
			text, err := os.ReadFile(at(name))
			if err != nil || string(text) != want {
				t.Errorf("%s is %q: %v", name, text, err)
			}
			info, err := os.Stat(at(name))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s is open to others: %v", name, info.Mode())
			}
			if !info.ModTime().Equal(past) {
				written = append(written, name)
			}
			if err := os.Chtimes(at(name), past, past); err != nil {
				t.Fatal(err)
			}
		}
		return written
	}
	if got := write(); len(got) != 3 {
		t.Errorf("written at first: %q", got)
	}
	if err := os.WriteFile(at("its-own"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := write(); len(got) != 0 {
		t.Errorf("written again: %q", got)
	}
	if err := os.WriteFile(at("app.properties"), []byte("password=y"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(at("empty")); err != nil {
		t.Fatal(err)
	}
	if got := write(); len(got) != 2 {
		t.Errorf("written after a change: %q", got)
	}
	if text, err := os.ReadFile(at("its-own")); err != nil || string(text) != "kept" {
		t.Errorf("what the instance wrote is %q: %v", text, err)
	}
}
