package report

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
)

func TestWrite(t *testing.T) {
	for name, r := range map[string]Result{"pass": passed(), "fail": convicted(), "unknown": unknown()} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Write(&b, r, false); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.String())
			narrow(t, b.String())
			if strings.ContainsRune(b.String(), '\x1b') {
				t.Error("there is colour, or what a target said reached the terminal as it was")
			}
		})
	}
}

func TestColourOnlyWhenAsked(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, convicted(), true); err != nil {
		t.Fatal(err)
	}
	golden(t, "fail-in-colour", b.String())
}

func TestAPassIsNotCalledProven(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, passed(), false); err != nil {
		t.Fatal(err)
	}
	text := strings.ToLower(b.String())
	if strings.Contains(text, "proven") || !strings.Contains(text, "no proof") {
		t.Errorf("a pass reads as a proof:\n%s", text)
	}
}

func TestHeadline(t *testing.T) {
	explored := passed()
	explored.Points = Points{}
	for _, c := range []struct {
		result Result
		want   string
	}{
		{passed(), "polling: pass, 412 of 412 cells exercised, 440 trials in 31.2 s"},
		{convicted(), "save-then-send: fail, 1 of 1 cell exercised, 1 trial in 3.2 s"},
		{unknown(), "my-outbox.yaml: unknown, 30 of 42 cells exercised, 30 trials in 60.0 s"},
		{explored, "polling: pass, no cells swept, 440 trials in 31.2 s"},
	} {
		if got := Headline(c.result); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestWriteJudgement(t *testing.T) {
	j := properties.Judgement{
		Verdict: properties.Fail,
		Results: []properties.Result{
			{Property: "no-lost-event", Claimed: true, Verdict: properties.Fail,
				Violations: []properties.Violation{{Summary: "o1 was lost", Evidence: []string{"+1ms this", "ledgers: that"}}}},
			{Property: "applied-once", Claimed: true, Verdict: properties.UnknownResult, Why: []string{"the consumer had no grace"}},
			{Property: "writes-survive-broker-outage", Verdict: properties.Pass},
		},
		Why:   []string{"kill at clock 5ms did not fire"},
		Blame: "the broker: it acknowledged the event of o2 and does not hold it",
	}
	lines := append(Judgement(j), Unknown(3, 5, []string{
		"applied-once: kitchen has not applied the event of o1, but the consumer did not have its grace (and 8 more like this, of other orders or trials)",
		"and 12 more",
	})...)
	golden(t, "judgement", strings.Join(lines, "\n")+"\n")
}

func TestAFailingWriterIsTold(t *testing.T) {
	for name, write := range map[string]func() error{
		"report": func() error { return Write(full{}, passed(), false) },
		"demo":   func() error { return WriteDemo(full{}, Demo{Targets: []Result{passed()}}, false) },
	} {
		if err := write(); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want the writer's error", name, err)
		}
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFold(t *testing.T) {
	long := strings.Repeat("x", columns+20)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", []string{"  "}},
		{"a word too long", "see " + long + " there", []string{"  see", "    " + long, "    there"}},
		{"what a terminal obeys", "a\x1b[2Jb\nc\u202ed", []string{"  a\uFFFD[2Jb c\uFFFDd"}},
	} {
		if got := Fold("  ", c.text); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add("a few words of a target", 2)
	f.Add(strings.Repeat("wörter ", 40), 0)
	f.Fuzz(func(t *testing.T, text string, indent int) {
		indent = min(max(indent, 0), 20)
		lines := Fold(strings.Repeat(" ", indent), text)
		words := strings.Fields(strings.Join(lines, " "))
		if want := strings.Fields(printable(text)); strings.Join(words, " ") != strings.Join(want, " ") {
			t.Errorf("words changed: %q, want %q", words, want)
		}
		for _, line := range lines {
			if len([]rune(line)) > columns && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("too wide: %q", line)
			}
		}
	})
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		".outboxtest/failures/a-1.yaml": ".outboxtest/failures/a-1.yaml",
		"a b":                           "'a b'",
		"it's":                          `'it'\''s'`,
		"$(rm)":                         "'$(rm)'",
		"":                              "''",
	} {
		if got := shellWord(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// What is told of a search that a schedule or a bound ended.
func TestWhatWasRefined(t *testing.T) {
	v := Violation{
		Holds:  &Holds{Tried: 3, Found: true},
		Shrunk: &Shrunk{Calls: 100, From: Size{Orders: 4, Faults: 3}, To: Size{Orders: 2, Faults: 2}},
	}
	want := []string{
		"it takes a schedule, which holds bring back every time (tried 3 scenarios)",
		"shrunk from 4 orders and 3 faults to 2 orders and 2 faults (tried 100 scenarios), not to the end: a smaller one may fail as well",
	}
	if got := refined(v); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := refined(Violation{}); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// What was not shrunk says so, and what shrinks it.
func TestAViolationSaysWhyItIsNotShrunk(t *testing.T) {
	for why, mend := range map[string]string{
		"":                "",
		ReasonStopped:     "run it again without --stop-at-first to have it shrunk",
		ReasonBudget:      "run it again with a larger --budget, or without one, to have it shrunk",
		ReasonInterrupted: "run it again to have it shrunk",
	} {
		text := strings.Join(strings.Fields(strings.Join(Details(Violation{Unshrunk: why}), " ")), " ")
		if says := strings.Contains(text, "not shrunk"); says != (why != "") || !strings.Contains(text, why) || !strings.Contains(text, mend) {
			t.Errorf("%q: %s", why, text)
		}
	}
}
