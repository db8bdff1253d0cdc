package proc

import (
	"strings"
	"testing"
)

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("12 (a) b) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 9 10"))
	f.Add([]byte("12 (z) Z 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 9 10"))
	f.Add([]byte(") "))
	f.Fuzz(func(t *testing.T, line []byte) {
		if s, ok := parseStatus(12, line); ok && s.pid != 12 {
			t.Errorf("got %+v", s)
		}
	})
}

func TestParseStatus(t *testing.T) {
	line := "12 (a) b) S 3 4 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 9 10"
	got, ok := parseStatus(12, []byte(line))
	if want := (status{identity: identity{12, 777}, parent: 3, group: 4, blank: true}); !ok || got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for text, dead := range map[string]bool{
		line:                                   false,
		strings.Replace(line, " S ", " Z ", 1): true,
		strings.Replace(strings.Replace(line, " S ", " Z ", 1), " 0 1 0 777", " 0 2 0 777", 1): false,
		strings.Replace(line, " S ", " X ", 1):                                                 true,
	} {
		if got, _ := parseStatus(12, []byte(text)); got.dead != dead {
			t.Errorf("%s: dead %v", text, got.dead)
		}
	}
}

// A process in the middle of executing a program has no environment for a
// moment; it must not slip through. Here a tower of programs executes one
// another as fast as it can.
func TestSweepFindsWhoIsExecuting(t *testing.T) {
	for range 30 {
		dir := t.TempDir()
		script := "cd " + dir + `; setsid sh -c 'echo $$ > s.tmp; mv s.tmp s; i=0; exec sh -c "$0" "$0"' 'exec sh -c "$0" "$0"' & while [ ! -e s ]; do :; done`
		p := begin(t, Spec{Name: "leader", Argv: []string{"sh", "-c", script}})
		<-p.Done()
		if pid := members(t, dir, "s")[0]; alive(pid) {
			t.Fatal("it slipped through")
		}
	}
}

func TestOwnEnvironmentIsNotBlank(t *testing.T) {
	var r reader
	p := begin(t, Spec{Name: "bare", Argv: []string{"env", "-i", "sleep", "1000"}})
	eventually(t, "the end of its start", func() bool {
		name, err := r.read("/proc/" + itoa(p.Pid()) + "/comm")
		if err != nil || string(name) != "sleep\n" {
			return false
		}
		s, ok := r.status(p.Pid())
		return ok && !s.blank // or it would be waited for
	})
	if s, ok := r.status(2); ok && s.parent == 0 && s.blank {
		t.Errorf("a thread of the kernel is waited for: %+v", s)
	}
}
