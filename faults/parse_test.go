package faults

import (
	"reflect"
	"strings"
	"testing"
)

// oneOfEach are lines as Fault.String writes them.
var oneOfEach = []string{
	`kill at relay.0/postgres "update outbox" #1 unanswered`,
	`kill at relay.*/broker "publish" #12 before, restart when backends are gone`,
	`kill at app.0/postgres "commit" #2 after, restart while backends linger`,
	`kill at app.0/postgres "commit" #2 after, restart never`,
	`kill relay.1 at app.0/postgres "a \"quoted\", odd; then at label" #3 after`,
	`kill relay.0 at clock 120ms`,
	`cut relay.0/broker at clock 1.5s`,
	`cut at consumer.0/broker "deliver" #1 before`,
	`hang at relay.0/postgres "select outbox" #1 after`,
	`hold at relay.1/postgres "update outbox" #1 before until relay.0/postgres "select outbox" #1 after`,
	`kill at relay.0/postgres "commit" #1 unanswered, dropping relay.0/broker "publish" #1 and relay.0/broker "ack" #2, restart when backends are gone`,
}

func TestFaultRoundTrips(t *testing.T) {
	for _, text := range oneOfEach {
		f, err := ParseFault(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if f.String() != text {
			t.Errorf("%s came back as %s", text, f)
		}
		if err := f.Validate(); err != nil {
			t.Errorf("%s is not sound: %v", text, err)
		}
	}
	f, err := ParseFault("kill at relay.0/broker \"publish\" after, restart\n  immediately")
	if err != nil || f.String() != `kill at relay.0/broker "publish" #1 after` {
		t.Errorf("got %v, %v", f, err)
	}
}

func TestFaultsRoundTrip(t *testing.T) {
	all := strings.Join(oneOfEach, "; then ")
	list, err := ParseFaults(all)
	if err != nil || len(list) != len(oneOfEach) {
		t.Fatalf("%d faults, %v", len(list), err)
	}
	if FormatFaults(list) != all {
		t.Errorf("came back as %s", FormatFaults(list))
	}
	folded, err := ParseFaults(strings.ReplaceAll(all, "; then ", ";\n    then\n    "))
	if err != nil || !reflect.DeepEqual(folded, list) {
		t.Errorf("folded as a report does: %v, %v", folded, err)
	}
}

func TestParseFaultSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		``:                                  "is not a fault",
		`murder at clock 1s`:                `"murder" is not a fault: use kill`,
		`kill`:                              "whom to kill",
		`kill relay.0`:                      "says not when",
		`kill relay at clock 1s`:            "is not an instance",
		`kill relay.0 at clock soon`:        "is not a time",
		`kill at relay.0 "commit" #1 after`: "is not a link",
		`kill at relay.0/postgres commit #1 after`:                                    "double quotes",
		"kill at relay.0/postgres `commit` #1 after":                                  "double quotes",
		`kill at relay.0/postgres "" #1 after`:                                        "cannot be read",
		`kill at relay.0/postgres "commit" #0 after`:                                  "from 1",
		`kill at relay.0/postgres "commit" #1 midway`:                                 `not "midway"`,
		`kill at relay.0/postgres "commit" #1 after, restart soon`:                    "use \"immediately\"",
		`kill at relay.0/postgres "commit" #1 after twice`:                            `there is "twice"`,
		`kill at relay.0/postgres "commit" #1 after, dropping relay.0 "x"`:            "is not a link",
		`hold at relay.0/postgres "commit" #1 before until relay.1/postgres "commit"`: "the moment is",
		`kill at relay.0/postgres "commit" #1 after; then kill at clock 1s`:           `there is "; then`,
	} {
		if _, err := ParseFault(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
	if _, err := ParseFaults(oneOfEach[0] + " and " + oneOfEach[1]); err == nil || !strings.Contains(err.Error(), `"; then "`) {
		t.Errorf("got %v", err)
	}
}

func FuzzParseFaults(f *testing.F) {
	for _, text := range oneOfEach {
		f.Add(text)
	}
	f.Add(oneOfEach[0] + "; then " + oneOfEach[6])
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseFaults(text)
		if err != nil {
			return
		}
		again, err := ParseFaults(FormatFaults(list))
		if err != nil || !reflect.DeepEqual(again, list) {
			t.Fatalf("%q reads as %v, which reads as %v (%v)", text, list, again, err)
		}
	})
}
