package mutants

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// most is how far a mutant may be away from its reference, in lines.
const most = 10

// references are where the files come from that mutants are copies of.
var references = []string{"../reference/polling", "../reference/cdc"}

// mutated is the reference that a mutant is nearest to, and how near, in lines.
func mutated(t *testing.T, folder, file string) (reference string, removed, added int) {
	t.Helper()
	mutant := body(t, filepath.Join(folder, file))
	for _, candidate := range references {
		path := filepath.Join(candidate, file)
		if _, err := os.Stat(path); os.IsNotExist(err) {
			continue
		}
		r, a := difference(body(t, path), mutant)
		if reference == "" || max(r, a) < max(removed, added) {
			reference, removed, added = candidate, r, a
		}
	}
	return reference, removed, added
}

func TestDistance(t *testing.T) {
	folders, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		t.Run(folder.Name(), func(t *testing.T) {
			files, err := os.ReadDir(folder.Name())
			if err != nil {
				t.Fatal(err)
			}
			if len(files) != 1 {
				t.Fatalf("it has %d files; it is a copy of one file of the reference", len(files))
			}
			reference, removed, added := mutated(t, folder.Name(), files[0].Name())
			t.Logf("%s: %d lines removed, %d added", reference, removed, added)
			if changed := max(removed, added); changed == 0 || changed > most {
				t.Errorf("%d lines are changed; from 1 to %d may be", changed, most)
			}
		})
		measured++
	}
	if measured != 13 {
		t.Errorf("measured %d mutants, want 13", measured)
	}
}

// body is a file's lines after its package clause, which with the comment above
// it is a mutant's own.
func body(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	return lines[set.Position(file.Name.End()).Line:]
}

// difference counts the lines of a and of b that are not in a longest common
// subsequence of both.
func difference(a, b []string) (removed, added int) {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	common := row[len(b)]
	return len(a) - common, len(b) - common
}

func TestDifference(t *testing.T) {
	for _, c := range []struct {
		a, b           string
		removed, added int
	}{
		{"", "", 0, 0},
		{"a b c", "a b c", 0, 0},
		{"a b c", "a x c", 1, 1},
		{"a b c", "a c", 1, 0},
		{"a c", "a b c d", 0, 2},
		{"a b c d", "b a d c", 2, 2},
		{"a b", "x y z", 2, 3},
	} {
		removed, added := difference(strings.Fields(c.a), strings.Fields(c.b))
		if removed != c.removed || added != c.added {
			t.Errorf("%q to %q: %d removed, %d added; want %d, %d", c.a, c.b, removed, added, c.removed, c.added)
		}
	}
}

// TestNoNameShows: what a mutant can emit must not tell which one it is, or a
// harness could pass by reading it.
func TestNoNameShows(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	telling := []string{"mutant", "bug", "wrong", "broken"}
	for _, path := range files {
		name := filepath.Base(filepath.Dir(path))
		for i, line := range body(t, path) {
			words := strings.ToLower(line)
			if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(words, "-", ""), " ", ""), name) ||
				slices.ContainsFunc(telling, func(word string) bool { return strings.Contains(words, word) }) {
				t.Errorf("%s: line %d after the package clause tells: %s", path, i+1, line)
			}
		}
	}
}
