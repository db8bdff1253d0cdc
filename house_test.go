// Package outboxtest_test holds the tests of the house as a whole.
package outboxtest_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/outboxtest/outboxtest"

// arrows lists what each room may import of ours; a trailing /... stands for
// the room and all below it. A room that is not listed may import nothing of
// ours, so a new room needs a line here, with its reason.
var arrows = []struct {
	room   string
	may    []string
	reason string
}{
	{"faults", nil, "the vocabulary is plain data that everybody shares"},
	{"faults/wire/frame", nil, "codecs and the wire meet here, without knowing each other"},
	{"faults/wire/pgwire", []string{"faults/wire/frame"}, "a codec is pure: it knows frames and nothing of proxies or faults"},
	{"faults/wire/natswire", []string{"faults/wire/frame"}, "a codec is pure: it knows frames and nothing of proxies or faults"},
	{"faults/wire", []string{"faults", "faults/wire/..."}, "the wire makes faults happen; what a target or a history is, it does not know"},
	{"faults/proc", nil, "processes are killed without knowing why"},
	{"properties", nil, "a history can be judged without servers, targets or faults"},
	{"targets", nil, "a manifest can be read without the harness that runs it"},
	{"targets/reference/...", []string{"targets", "targets/reference/..."}, "a reference is a target and nothing more"},
	{"targets/mutants/...", []string{"targets", "targets/reference/..."}, "a mutant is a reference with one bug"},
	{"targets/builtin", []string{"targets/..."}, "the list of the targets that come with the harness"},
	{"harness/whole", nil, "a file is there whole or not at all, whatever is in it"},
	{"harness/scenario", []string{"faults", "targets", "harness/whole"}, "a scenario is plain data, and its file is read with the bounds of a manifest"},
	{"harness/stack", []string{"faults/proc"}, "servers know no target: they are processes with ledgers"},
	{"harness/roles", []string{"targets"}, "the harness's own app and consumer play a manifest's part"},
	{"harness/trial", []string{"faults/...", "properties", "targets", "harness/scenario", "harness/stack", "harness/roles"}, "a trial brings the leaves together, and judges nothing"},
	{"harness/diagnosis", []string{"properties", "targets"}, "what a trial showed is told from its history and the manifest alone"},
	{"harness/search", []string{"faults", "properties", "harness/scenario"}, "which trials are worth executing follows from histories alone"},
	{"harness/report", []string{"properties", "harness/scenario"}, "a report shows results, whoever made them"},
	{"harness", []string{"faults/...", "properties", "targets", "harness/..."}, "the two doors"},
	{"docs/examples/...", []string{"harness", "targets/..."}, "an example is a user: it sees the doors and what a target is"},
	{"cmd/outboxtest", []string{"harness/...", "properties", "targets/...", "faults"}, "the command line parses, calls the harness, and prints"},
}

func matches(pattern, room string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return room == prefix || strings.HasPrefix(room, prefix+"/")
	}
	return room == pattern
}

// lookAtEverything has go test know what this test depends on: without it a
// result from before a change would be taken from its cache.
func lookAtEverything(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(".", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "." {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestArrowsPointOneWay(t *testing.T) {
	lookAtEverything(t)
	var stdout strings.Builder
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Stdout = &stdout
	cmd.Stderr = &strings.Builder{}
	if err := cmd.Run(); err != nil {
		t.Fatalf("list our packages: %v\n%s", err, cmd.Stderr)
	}
	rooms := 0
	for decoder := json.NewDecoder(strings.NewReader(stdout.String())); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("read the list of our packages: %v", err)
		}
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if room == "" {
			continue
		}
		rooms++
		may, reason := allowed(room)
		for _, i := range p.Imports {
			other, ours := strings.CutPrefix(i, module+"/")
			if !ours {
				if i == "testing" && room != "harness" {
					t.Errorf("%s imports testing: only the door for go test does", room)
				}
				continue
			}
			if !permits(may, other) {
				t.Errorf("%s imports %s, which it may not: %s", room, other, reason)
			}
		}
	}
	if rooms < 10 {
		t.Fatalf("only %d packages were looked at: the list is not the whole house", rooms)
	}
}

func allowed(room string) (may []string, reason string) {
	for _, a := range arrows {
		if matches(a.room, room) {
			return a.may, a.reason
		}
	}
	return nil, "it has no line in arrows, so it may import nothing of ours"
}

func permits(may []string, room string) bool {
	for _, m := range may {
		if matches(m, room) {
			return true
		}
	}
	return false
}
