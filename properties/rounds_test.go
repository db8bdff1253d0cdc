package properties

import (
	"testing"
	"time"
)

// A relay whose polls never come back empty, because a row is stuck or because its
// query always returns one, is judged by how often it went round.
func TestARelayThatGoesRoundWithoutEmptyPolls(t *testing.T) {
	tests := []struct {
		name    string
		rounds  int
		late    bool // the rounds were before the wait
		labels  []string
		verdict Verdict
	}{
		{"often enough", 30, false, []string{"begin", "select outbox", "rollback"}, Fail},
		{"with one statement", 30, false, []string{"select outbox"}, Fail},
		{"seldom", 29, false, []string{"begin", "select outbox", "rollback"}, UnknownResult},
		{"before the wait", 30, true, []string{"begin", "select outbox", "rollback"}, UnknownResult},
		{"only connecting", 30, false, []string{"connect"}, UnknownResult},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := begin("o1").place("o1").relay()
			b.step = time.Millisecond
			for range test.rounds {
				b.sql(relay, test.labels...)
			}
			waited := 200*time.Millisecond + time.Duration(2*len(test.labels)*test.rounds)*time.Millisecond
			if test.late {
				waited = 200 * time.Millisecond
			}
			// What the builder's drain adds is a silence.
			h := b.drain(BasisPromise, func(d *Drain) { d.Polls, d.Time = 0, waited }).end()
			if j := Judge(h); j.Verdict != test.verdict {
				t.Errorf("%s, %q; want %s", j.Verdict, reasons(j), test.verdict)
			}
		})
	}
}

// Each link counts for itself, so that many relays that each live a little are no
// relay that lives.
func TestRoundsAreOfOneLink(t *testing.T) {
	b := begin("o1").sql("relay.0/postgres", "select outbox", "select outbox").sql("relay.1/postgres", "select outbox").sql("app.0/postgres", "select outbox", "select outbox", "select outbox")
	if n := Rounds(b.h, "relay", 0, time.Hour); n != 2 {
		t.Errorf("%d rounds, want 2", n)
	}
}
