package scenario

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
)

const sample = `version: 1
target: polling
workload:
  - place: {order: o1, customer: c1}
  - abort: {order: o2, customer: c1}
  - overlap: [{order: o3}, {order: o4}]
faults:
  - at: relay.0/postgres "update outbox" #2 unanswered
    do: kill
    drop: [relay.0/broker "publish" #1 before]
    then: {restart: when backends are gone}
  - {at: relay.*/broker "publish" #1 before, do: cut}
  - at: clock 120ms
    do: hang relay.0/broker
  - at: 'app.0/postgres "commit" #1 before'
    do: hold
    until: app.1/postgres "commit" #1 after
`

func TestParseReadsBarePoints(t *testing.T) {
	s, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range s.Faults {
		got = append(got, f.String())
	}
	want := []string{
		`kill at relay.0/postgres "update outbox" #2 unanswered, dropping relay.0/broker "publish" #1, restart when backends are gone`,
		`cut at relay.*/broker "publish" #1 before`,
		`hang relay.0/broker at clock 120ms`,
		`hold at app.0/postgres "commit" #1 before until app.1/postgres "commit" #1 after`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("faults:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	placed, aborted := s.Orders()
	if strings.Join(placed, " ") != "o1 o3 o4" || strings.Join(aborted, " ") != "o2" || !s.Overlaps() {
		t.Errorf("orders: placed %v, aborted %v", placed, aborted)
	}
}

func TestFormatRoundTrips(t *testing.T) {
	s, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	text, err := Format(s, "what it shows", "two lines")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !reflect.DeepEqual(s, again) {
		t.Errorf("read back differently:\n%s", text)
	}
	if !strings.HasPrefix(string(text), "# what it shows\n# two lines\nversion: 1\n") {
		t.Errorf("head of the file:\n%s", text)
	}
}

func TestSaveKeepsTheManifestRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "failures", "a.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	s := Scenario{Target: filepath.Join(dir, "my", "outbox.yaml"), Workload: []Step{{Place: &Order{Order: "o1"}}}}
	if err := Save(path, s); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "target: ../my/outbox.yaml\n") {
		t.Errorf("saved (%v):\n%s", err, data)
	}
	loaded, err := Load(path)
	if err != nil || loaded.Target != s.Target {
		t.Errorf("loaded target %q (%v), want %q", loaded.Target, err, s.Target)
	}
}

func TestParseRefuses(t *testing.T) {
	const head = "version: 1\nworkload: [{place: {order: o1}}]\n"
	for _, c := range []struct{ name, text, want string }{
		{"another version", "version: 2\nworkload: [{place: {order: o1}}]", "reads version 1"},
		{"an unknown key", head + "fault: []", `unknown field "fault"`},
		{"no workload", "version: 1", "workload: is empty"},
		{"an order twice", "version: 1\nworkload: [{place: {order: o1}}, {abort: {order: o1}}]", "placed twice"},
		{"two in one step", "version: 1\nworkload: [{place: {order: o1}, abort: {order: o2}}]", "found 2 of them"},
		{"an overlap of one", "version: 1\nworkload: [{overlap: [{order: o1}]}]", "it takes two"},
		{"a token to quote", "version: 1\nworkload: [{place: {order: \"o'1\"}}]", "letters, digits and dashes"},
		{"a pace", head + "pace: fast", "use stepwise or batch"},
		{"no moment", head + `faults: [{at: relay.0/postgres "commit" #1, do: kill}]`, "fault 1"},
		{"an unknown moment", head + `faults: [{at: relay.0/postgres "commit" #1 during, do: kill}]`, "before, unanswered or after"},
		{"an unknown role", head + `faults: [{at: 'relais.0/postgres "commit" #1 after', do: kill}]`, "relais.0"},
		{"a bad clock", head + `faults: [{at: clock soon, do: kill relay.0}]`, "is not a time"},
		{"a clock without whom", head + `faults: [{at: clock 5ms, do: kill}]`, "must name whom"},
		{"an unknown fault", head + `faults: [{at: clock 5ms, do: explode relay.0}]`, "is not a fault"},
		{"hold without until", head + `faults: [{at: 'app.0/postgres "commit" #1 before', do: hold}]`, "needs until"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		text, err := Format(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(text); err != nil {
			t.Fatalf("cannot read back what was written: %v\n%s", err, text)
		}
	})
}

func TestClockIsKept(t *testing.T) {
	f := faults.Fault{Clock: 1500 * time.Microsecond, Do: faults.Kill}
	f.On.Instance = faults.Instance{Role: "relay"}
	if got := formatFault(f); got.At != "clock 1.5ms" || got.Do != "kill relay.0" {
		t.Errorf("got %+v", got)
	}
}
