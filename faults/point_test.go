package faults

import (
	"strings"
	"testing"
	"time"
)

func TestPointRoundTrips(t *testing.T) {
	for _, text := range []string{
		`relay.0/postgres "update outbox" #1 unanswered`,
		`relay.*/broker "publish" #12 before`,
		`app.1/postgres "select claim_batch()" #2 after`,
		`consumer.0/postgres "a \"quoted\" label" #1 after`,
	} {
		p, err := ParsePoint(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if p.String() != text {
			t.Errorf("%s came back as %s", text, p)
		}
	}
}

func TestPointWithoutOccurrenceIsTheFirst(t *testing.T) {
	p, err := ParsePoint(`relay.0/broker "publish" after`)
	if err != nil || p.N != 1 {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestParsePointSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "is not a point",
		`relay.0/postgres`:                      "is not a point",
		`relay.0 "commit" #1 after`:             "is not a link",
		`relais.0/postgres "commit" #1 after`:   "is not an instance",
		`relay.00/postgres "commit" #1 after`:   "whole number",
		`relay.-1/postgres "commit" #1 after`:   "whole number",
		`relay.0/mysql "commit" #1 after`:       "postgres or broker",
		`relay.0/postgres commit #1 after`:      "in double quotes",
		`relay.0/postgres "" #1 after`:          "label cannot be read",
		`relay.0/postgres "commit" #0 after`:    "from 1",
		`relay.0/postgres "commit" #x after`:    "from 1",
		`relay.0/postgres "commit" #1`:          "before, unanswered or after",
		`relay.0/postgres "commit" #1 midway`:   "not \"midway\"",
		`relay.0/postgres "commit" #1 after it`: "is not a point",
	} {
		if _, err := ParsePoint(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}

func FuzzParsePoint(f *testing.F) {
	f.Add(`relay.0/postgres "update outbox" #1 unanswered`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePoint(text)
		if err != nil {
			return
		}
		again, err := ParsePoint(p.String())
		if err != nil || again != p {
			t.Fatalf("%q reads as %v, which reads as %v (%v)", text, p, again, err)
		}
	})
}

func TestWildcardMatches(t *testing.T) {
	any, err := ParseLink("relay.*/broker")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"relay.0/broker": true, "relay.7/broker": true, "relay.0/postgres": false, "app.0/broker": false} {
		l, err := ParseLink(text)
		if err != nil {
			t.Fatal(err)
		}
		if any.Matches(l) != want {
			t.Errorf("relay.*/broker matches %s: %v", l, !want)
		}
	}
}

func TestFaultsThatDoNotApplyAreRefused(t *testing.T) {
	at := func(text string) *Point {
		p, err := ParsePoint(text)
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	relay := Instance{Role: "relay"}
	before := at(`relay.0/postgres "commit" #1 before`)
	for want, f := range map[string]Fault{
		"needs do":                     {At: before},
		"is not a fault":               {At: before, Do: "burn"},
		"before the workload":          {Clock: -time.Second, Do: Kill, On: Link{Instance: relay}},
		"must name whom":               {Clock: time.Second, Do: Kill},
		"names no server":              {Clock: time.Second, Do: Cut, On: Link{Instance: relay}},
		"has the moment before":        {At: at(`relay.0/postgres "commit" #1 after`), Do: Hold, Until: before},
		"hold needs until":             {At: before, Do: Hold},
		"until belongs to hold":        {At: before, Do: Kill, Until: before},
		"then.restart belongs to":      {At: before, Do: Cut, Then: Then{Restart: Never}},
		"use \"immediately\"":          {At: before, Do: Kill, Then: Then{Restart: "soon"}},
		"drop belongs to kill":         {At: before, Do: Hang, Drop: []Point{*before}},
		"only messages of the faulted": {At: before, Do: Kill, Drop: []Point{*at(`app.0/broker "publish" #1 before`)}},
	} {
		if err := f.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want an error with %q", f, err, want)
		}
	}
	if err := (Fault{At: before, Do: Kill, Then: Then{Restart: BackendsGone}}).Validate(); err != nil {
		t.Errorf("a good fault is refused: %v", err)
	}
}
