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
	if want := (status{identity: identity{12, 777}, parent: 3, group: 4}); !ok || got != want {
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
