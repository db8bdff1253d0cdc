package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/harness"
)

// clocked is a meter whose clock the test moves.
func clocked(live bool) (m *meter, said *bytes.Buffer, pass func(time.Duration)) {
	now := time.Unix(0, 0)
	said = &bytes.Buffer{}
	m = newMeter(said, live)
	m.now = func() time.Time { return now }
	m.last = now
	return m, said, func(d time.Duration) { now = now.Add(d) }
}

func TestPlainLinesComeNowAndThen(t *testing.T) {
	m, said, pass := clocked(false)
	show := m.of("polling")
	for i := range 120 {
		show(harness.Progress{Phase: "sweep", Done: i, Total: 400, Violations: i / 60})
		pass(100 * time.Millisecond)
	}
	m.clear()
	want := "polling: sweep 50/400, 10.0 trials/s\npolling: sweep 100/400, 1 violation, 10.0 trials/s\n"
	if said.String() != want {
		t.Errorf("got:\n%swant:\n%s", said, want)
	}
}

func TestTheStatusLineIsRewritten(t *testing.T) {
	m, said, pass := clocked(true)
	m.clear()
	if said.Len() > 0 {
		t.Errorf("there was nothing to clear: %q", said)
	}
	show := m.of("polling")
	pass(time.Second)
	show(harness.Progress{Phase: "explore", Done: 3, Violations: 2})
	pass(10 * time.Millisecond)
	show(harness.Progress{Phase: "explore", Done: 4}) // too soon
	pass(time.Second)
	m.of(strings.Repeat("x", 200))(harness.Progress{Phase: "explore", Done: 5})
	m.clear()
	m.clear()
	const back = "\r\x1b[2K"
	want := back + "polling: explore 3, 2 violations" + back + strings.Repeat("x", statusWidth) + back
	if said.String() != want {
		t.Errorf("got  %q\nwant %q", said, want)
	}
}

func TestTheRateIsOfThePhase(t *testing.T) {
	m, said, pass := clocked(true)
	show := m.of("polling")
	pass(time.Second)
	show(harness.Progress{Phase: "recording", Done: 1, Total: 3})
	pass(10 * time.Second)
	show(harness.Progress{Phase: "sweep", Done: 0, Total: 9})
	pass(2 * time.Second)
	show(harness.Progress{Phase: "sweep", Done: 8, Total: 9})
	if !strings.HasSuffix(said.String(), "polling: sweep 8/9, 4.0 trials/s") {
		t.Errorf("got %q", said)
	}
}

// A run that earns nothing is seen before its end.
func TestTheMeterTellsWhatCameToNoVerdict(t *testing.T) {
	got := progressText("polling", harness.Progress{Phase: "sweep", Done: 9, Total: 400, Violations: 1, Undecided: 7}, 0)
	if want := "polling: sweep 9/400, 1 violation, 7 without a verdict"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
