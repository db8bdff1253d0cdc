package properties

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

func text(t testing.TB, h []Event) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, h); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadGivesWhatWasWritten(t *testing.T) {
	for _, c := range cases() {
		h := c.history()
		back, err := Read(strings.NewReader(text(t, h)))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !reflect.DeepEqual(h, back) {
			t.Errorf("%s: another history came back", c.name)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const trial = `{"seq":1,"at_ns":0,"kind":"trial","trial":{"version":1,"target":"t","orders":[],"consumers":[],"promise":{"polls":0,"time_ns":0},"pending":false,"roles":[]}}` + "\n"
	tests := []struct{ name, in, want string }{
		{"empty", "", "history: it is empty"},
		{"no json", "{", "history line 1: not an event of a history"},
		{"unknown key", trial + `{"seq":2,"at_ns":1,"kind":"end","mood":"good"}`, `history line 2: not an event of a history: json: unknown field "mood"; use the file as the trial wrote it`},
		{"unknown key inside", trial + `{"seq":2,"at_ns":1,"kind":"call","call":{"op":"place","order":"o1","instance":"a","x":1}}`, `unknown field "x"`},
		{"other version", strings.Replace(trial, `"version":1`, `"version":9,"new":true`, 1), "history line 1: version 9; this outboxtest reads version 1"},
		{"gap", trial + `{"seq":3,"at_ns":1,"kind":"end"}`, "history line 2: seq is 3 and should be 2: lines are missing"},
		{"first is no trial", `{"seq":1,"at_ns":0,"kind":"end"}`, `history line 1: the first event is "end"`},
		{"no payload", trial + `{"seq":2,"at_ns":1,"kind":"wire"}`, `history line 2: an event of kind "wire" without its "wire"`},
		{"null payload", trial + `{"seq":2,"at_ns":1,"kind":"drain","drain":null}`, `an event of kind "drain" without its "drain"`},
		{"other payload", trial + `{"seq":2,"at_ns":1,"kind":"end","problem":"x"}`, `history line 2: an event of kind "end" with a "problem"`},
		{"a stall without its own", trial + `{"seq":2,"at_ns":1,"kind":"stall","segment":1}`, `history line 2: an event of kind "stall" with a "segment"`},
		{"unknown kind", trial + `{"seq":2,"at_ns":1,"kind":"gossip"}`, `history line 2: kind "gossip"`},
		{"blank line", trial + "\n" + `{"seq":2,"at_ns":1,"kind":"end"}`, "history line 2: empty; remove it"},
		{"two objects", trial + `{"seq":2,"at_ns":1,"kind":"end"}{}`, "history line 2: something follows"},
		{"too long", trial + strings.Repeat(" ", MaxLine+1), "history line 2: longer than 8388608 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(test.in))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	if _, err := Read(strings.NewReader(trial + strings.Repeat(" ", MaxLine-30) + `{"seq":2,"at_ns":1,"kind":"end"}`)); err == nil {
		t.Error("a line just too long was read")
	}
	if _, err := Read(strings.NewReader(trial + strings.Repeat(" ", MaxLine-32) + `{"seq":2,"at_ns":1,"kind":"end"}` + "\n")); err != nil {
		t.Errorf("a line just short enough: %v", err)
	}
	broken := io.MultiReader(strings.NewReader(trial), errReader{})
	if _, err := Read(broken); !errors.Is(err, errBroken) {
		t.Errorf("a failing reader gave %v", err)
	}
}

var errBroken = errors.New("broken")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errBroken }

func TestWriteRefuses(t *testing.T) {
	good := complete("o1").end()
	long := complete("o1").add(Event{Kind: KindProblem, Problem: strings.Repeat("x", MaxLine)}).end()
	for name, h := range map[string][]Event{
		"empty": nil, "no trial": good[1:], "gap": append(good[:3:3], good[4:]...),
		"shape": append(good[:3:3], Event{Seq: 4, Kind: KindCall}), "long": long,
	} {
		if err := Write(io.Discard, h); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

// Whatever Read accepts can be written, comes back the same, and is judged
// without a panic; without its end it never passes.
func FuzzRead(f *testing.F) {
	// Short seeds, one for each kind: whole histories keep the fuzzer busy with
	// making them smaller, and FuzzJudge has those.
	h := lostOne(BasisPendingZero).stalled(time.Second).add(Event{Kind: KindProblem, Problem: "p"}).add(Event{Kind: KindSegment, Segment: 1}).end()
	seen := map[Kind]bool{}
	for _, e := range h[1:] {
		if !seen[e.Kind] {
			seen[e.Kind] = true
			f.Add([]byte(text(f, renumbered([]Event{h[0], e}))))
		}
	}
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := Read(bytes.NewReader(in))
		if err != nil {
			return
		}
		again, err := Read(strings.NewReader(text(t, h)))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if text(t, h) != text(t, again) {
			t.Fatal("what was read comes back as something else")
		}
		neverPanics(t, h)
	})
}
