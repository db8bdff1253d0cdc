package whole

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func holds(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

func says(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s says %q (%v), want %q", path, got, err, want)
	}
}

func saying(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestAFileIsThereWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	broken := errors.New("no space left on device")
	half := func(w io.Writer) error { return errors.Join(saying("half")(w), broken) }
	if err := File(path, half); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("got %v", err)
	}
	holds(t, dir)
	for _, text := range []string{"first", "second"} {
		if err := File(path, saying(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := File(path, half); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	holds(t, dir, "a")
	says(t, path, "second")
	err := File(filepath.Join(dir, "no", "folder"), saying(""))
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), part) {
		t.Errorf("got %v", err)
	}
}

func TestAFolderIsThereWholeOrNotAtAll(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "logs")
	if err := os.WriteFile(filepath.Join(from, "relay.0.log"), []byte("up"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Folder(path, from); err != nil {
			t.Fatal(err)
		}
	}
	for _, no := range []string{"", filepath.Join(from, "gone")} {
		if err := Folder(path, no); err == nil {
			t.Errorf("%q can be copied", no)
		}
	}
	holds(t, dir, "logs")
	says(t, filepath.Join(path, "relay.0.log"), "up")
}
