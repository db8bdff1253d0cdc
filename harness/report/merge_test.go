package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
)

// swept has a matrix with every status in it, and a recovery.
func swept() Result {
	r := convicted()
	r.Seconds, r.PlanDigest = 3, "d1"
	const linger = "kill, restart while backends linger"
	r.Matrix = []Row{
		{Run: "stepwise", Exchange: `app.0/postgres "commit" #1`, Cells: []Cell{
			{"before", "cut", Exercised, ""}, {"before", "kill", NotApplicable, "the same as another"},
			{"unanswered", "cut", Exercised, "the relay\x1b said no"}, {"unanswered", "kill", Violated, ""}, {"unanswered", linger, Exercised, ""},
			{"after", "cut", NotReached, `"commit" was seen 0 times`}, {"after", "kill", NotApplicable, "the same as another"},
		}},
		{Run: "stepwise", Exchange: `relay.*/postgres "select outbox idle" #2`, Cells: []Cell{{"unanswered", "cut", NotApplicable, "an idle poll"}, {"after", "cut", NotApplicable, "an idle poll"}}},
		{Run: "stepwise", Exchange: `relay.*/broker "publish" #1`, Cells: []Cell{
			{"before", "kill", Exercised, ""}, {"unanswered", "kill, dropping relay.*/postgres \"commit\" #1", NotTried, ReasonBudget}, {"unanswered", "kill, dropping relay.*/postgres \"commit\" #2", Exercised, ""},
		}},
		{Run: "stepwise", Exchange: `relay.*/postgres "select outbox idle" #3`, Cells: []Cell{{"unanswered", "cut", NotApplicable, "an idle poll"}, {"after", "cut", NotApplicable, "an idle poll"}}},
		{Run: "batch", Exchange: `consumer.0/broker "ack #9" #1`, Cells: []Cell{{"before", "hang", NotTried, ReasonBudget}, {"after", "hang", NotTried, ReasonStopped}}},
		{Run: "batch", After: `cut at relay.*/broker "publish" #1 before`, Exchange: `relay.*/broker "publish" #2`, Cells: []Cell{
			{"unanswered", "kill", Exercised, ""}, {"after", "cut", NotApplicable, "another course"}, {"after", "kill", NotTried, ReasonBudget},
		}},
	}
	r.Count()
	return r
}

func TestCountFollowsTheMatrix(t *testing.T) {
	r := swept()
	if want := (Points{Total: 16, Exercised: 6, Unreached: 1, NotApplicable: 6}); r.Points != want {
		t.Errorf("points %+v, want %+v", r.Points, want)
	}
	if want := (Points{Total: 3, Exercised: 1, NotApplicable: 1}); r.Recovery == nil || *r.Recovery != want {
		t.Errorf("recovery %+v, want %+v", r.Recovery, want)
	}
	if want := []LeftOut{{"an idle poll", 4, 0}, {"the same as another", 2, 0}, {"another course", 1, 1}}; !reflect.DeepEqual(r.LeftOut, want) {
		t.Errorf("left out %+v, want %+v", r.LeftOut, want)
	}
	if want := []LeftOut{{ReasonBudget, 3, 1}, {ReasonStopped, 1, 0}}; !reflect.DeepEqual(r.NotTried, want) {
		t.Errorf("not tried %+v, want %+v", r.NotTried, want)
	}
	if want := []Unreached{{"stepwise", `cut at app.0/postgres "commit" #1 after`, `"commit" was seen 0 times`}}; !reflect.DeepEqual(r.Unreached, want) {
		t.Errorf("unreached %+v, want %+v", r.Unreached, want)
	}
}

func TestComplete(t *testing.T) {
	others := []LeftOut{{Reason: ReasonShard, Cells: 1}}
	for _, c := range []struct {
		name string
		r    Result
		want bool
	}{
		{"all", Result{}, true},
		{"unreached", Result{Unreached: make([]Unreached, 1)}, false},
		{"budget", Result{NotTried: []LeftOut{{Reason: ReasonBudget, Cells: 1}}}, false},
		{"interrupted", Result{NotTried: []LeftOut{{Reason: ReasonInterrupted, Cells: 1}}}, false},
		{"stopped at a violation", Result{NotTried: []LeftOut{{Reason: ReasonStopped, Cells: 1}}}, true},
		{"others' part", Result{NotTried: others, Shard: &Shard{1, 2}}, true},
		{"others' part, joined", Result{NotTried: others}, false},
	} {
		if got := c.r.Complete(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestWriteCoverage(t *testing.T) {
	for name, r := range map[string]Result{"coverage": swept(), "coverage-none": unknown()} {
		var b bytes.Buffer
		if err := WriteCoverage(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
		narrow(t, b.String())
		if strings.ContainsRune(b.String(), '\x1b') {
			t.Error("what a target said reached the terminal as it was")
		}
	}
	if err := WriteCoverage(full{}, swept()); err == nil {
		t.Error("the writer's error is lost")
	}
}

// shards are two shards of one run, each with a cell of its own.
func shards() []Result {
	var parts []Result
	for i, name := range []string{"before", "after"} {
		p := Result{
			Version: Version, Target: "polling", Verdict: properties.Pass, Seed: 7, Seconds: float64(i + 1), Trials: 10, PlanDigest: "d1",
			Environment: ground0(), Shard: &Shard{i + 1, 2},
			Properties: []Property{{Name: "no-lost-event", Claimed: true, Verdict: properties.Pass, Violations: []Violation{}}},
			Explored:   &Explored{Trials: 2, Faults: 3, Struck: 2, Partly: 1},
		}
		row := Row{Run: "batch", Exchange: `relay.0/broker "publish" #1`, Cells: []Cell{
			{"before", "cut", NotTried, ReasonShard}, {"unanswered", "cut", NotApplicable, "a rule"}, {"after", "cut", NotTried, ReasonShard},
		}}
		for j := range row.Cells {
			if row.Cells[j].Moment == name {
				row.Cells[j].Status, row.Cells[j].Reason = Exercised, ""
			}
		}
		second := Row{Run: "batch", After: "cut " + name, Exchange: `relay.0/broker "publish" #2`, Cells: []Cell{{"before", "kill", Exercised, ""}}}
		p.Matrix = []Row{row, second}
		p.Count()
		parts = append(parts, p)
	}
	return parts
}

func TestMergeJoinsShards(t *testing.T) {
	got, err := Merge(shards(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "merged.json", string(text)+"\n")
	one, err := Merge([]Result{swept()}, []string{"whole"})
	if err != nil || one.Points != swept().Points {
		t.Errorf("a run that was not split is its own only shard: %v, %+v", err, one.Points)
	}
}

// A cell that one shard leaves to another, which has not recorded its exchange,
// is the schedule's choice; one that both know and neither has tried is missed.
func TestMergeLeavesToTheScheduleWhatOneHasNotRecorded(t *testing.T) {
	stray := Row{Run: "batch", Exchange: `relay.*/postgres "select outbox" #3`, Cells: []Cell{{Moment: "after", Fault: "cut", Status: NotTried, Reason: ReasonShard}}}
	for _, c := range []struct {
		both    bool
		status  Status
		verdict properties.Verdict
	}{{false, NotApplicable, properties.Pass}, {true, NotTried, properties.UnknownResult}} {
		parts := shards()
		parts[0].Matrix = append(parts[0].Matrix, stray)
		if c.both {
			parts[1].Matrix = append(parts[1].Matrix, stray)
		}
		got, err := Merge(parts, []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(got.Matrix, func(r Row) bool { return r.Exchange == stray.Exchange })
		if i < 0 || got.Matrix[i].Cells[0].Status != c.status || got.Verdict != c.verdict {
			t.Errorf("known to both: %v; the verdict is %s, the row %+v", c.both, got.Verdict, got.Matrix[i])
		}
	}
}

func TestMergeSaysWhatDoesNotFit(t *testing.T) {
	violated := func(reproduced int) []Property {
		return []Property{{Name: "no-lost-event", Claimed: true, Verdict: properties.Fail, Violations: []Violation{{
			Fault: `kill at relay.0/broker "publish" #` + string(rune('1'+reproduced)) + ` after`, Reproduced: Reproduced{reproduced, 3}, Cells: 2,
		}}}}
	}
	for _, c := range []struct {
		name    string
		change  func([]Result) []Result
		verdict properties.Verdict
		why     string // among the reasons
		refused string // in the error
	}{
		{"they fit", func(p []Result) []Result { return p }, properties.Pass, "", ""},
		{"one is missing", func(p []Result) []Result { return p[1:] }, properties.UnknownResult, "missing: shard 1/2", ""},
		{"one is there twice", func(p []Result) []Result { return append(p, p[0]) }, properties.UnknownResult, "shard 1/2 is there twice: a and c", ""},
		{"one is there for the other", func(p []Result) []Result { p[1] = p[0]; return p }, properties.UnknownResult, "missing: shard 2/2", ""},
		{"another target", func(p []Result) []Result { p[1].Target = "mine"; return p }, "", "", "a is of the target polling and b of mine"},
		{"another split", func(p []Result) []Result { p[1].Shard = &Shard{2, 3}; return p }, "", "", "a is one of 2 shards and b one of 3"},
		{"a whole run", func(p []Result) []Result { p[1].Shard = nil; return p }, "", "", "b one of 1"},
		{"other cells", func(p []Result) []Result { p[1].PlanDigest = "d2"; return p }, properties.UnknownResult, "a and b are not of one run", ""},
		{"another version", func(p []Result) []Result { p[1].Environment.Harness = "v2"; return p }, properties.UnknownResult, "a was written by outboxtest v1.0.0 and b by outboxtest v2", ""},
		{"one is unknown", func(p []Result) []Result {
			p[1].Verdict, p[1].Why = properties.UnknownResult, []string{"so it is"}
			return p
		}, properties.UnknownResult, "shard 2/2: so it is", ""},
		{"one fails, one is missing", func(p []Result) []Result {
			p[1].Verdict, p[1].Properties = properties.Fail, violated(3)
			return p[1:]
		}, properties.Fail, "missing: shard 1/2", ""},
		{"a cell that no shard has tried", func(p []Result) []Result {
			p[1].Matrix[0].Cells[2] = Cell{"after", "cut", NotTried, ReasonBudget}
			return p
		}, properties.UnknownResult, "not tried: 1 cell: the budget was spent", ""},
		{"none at all", func([]Result) []Result { return nil }, "", "", "no result"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := c.change(shards())
			got, err := Merge(parts, []string{"a", "b", "c"}[:len(parts)])
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %v, want an error with %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if reasons := strings.Join(Reasons(got), "\n"); got.Verdict != c.verdict || !strings.Contains(reasons, c.why) {
				t.Errorf("%s: %s", got.Verdict, reasons)
			}
		})
	}
	parts := shards()
	parts[0].Properties, parts[1].Properties = violated(0), violated(3)
	got, err := Merge(parts, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if v := got.Properties[0].Violations; len(v) != 1 || v[0].Cells != 4 || v[0].Reproduced.Failed != 3 {
		t.Errorf("violations at the same kind of point: %+v", v)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                              "no JSON object of a run: EOF",
		`[]`:                            "no JSON object of a run",
		`{"version": 1} {}`:             "more behind",
		`{"version": 1}`:                "names no version or no target",
		`{"targets": []}`:               "a demo's result holds several",
		`{"version": 2, "target": "x"}`: "version 2, and this harness reads version 1",
		`{"version": 1, "target": "x", "verdict": "maybe"}`:                                               `verdict is "maybe"`,
		`{"version": 1, "target": "x", "verdict": "pass", "shard": {"index": 4, "of": 3}}`:                "shard is 4/3",
		`{"version": 1, "target": "x", "verdict": "pass", "points": {"total": 3}}`:                        "kept no matrix",
		`{"version": 1, "target": "x", "verdict": "pass", "matrix": [{"cells": [{"moment": "during"}]}]}`: "no such moment or status",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}

func TestReadFileFindsWhatTravelledWithTheFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadFile(dir); err == nil || !strings.Contains(err.Error(), "there is no result.json in it") {
		t.Errorf("an empty folder: %v", err)
	}
	r := swept()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(dir, "failures", "save-then-send-no-lost-event-1.yaml")
	if err := os.Mkdir(filepath.Dir(here), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{here: "", filepath.Join(dir, ResultFile): string(text)} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, ResultFile)} {
		got, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v := got.Properties[0].Violations
		if v[0].Scenario != here || v[0].History != r.Properties[0].Violations[0].History || v[2].Scenario != "it's here/a b.yaml" {
			t.Errorf("%s: %q and %q", path, v[0].Scenario, v[0].History)
		}
		if !reflect.DeepEqual(got.Matrix, r.Matrix) {
			t.Errorf("the matrix changed: %+v", got.Matrix)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, r := range append(shards(), swept(), unknown()) {
		text, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		joined, err := Merge([]Result{r, r}, []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := WriteCoverage(&b, joined); err != nil {
			t.Fatal(err)
		}
		if err := Write(&b, joined, false); err != nil {
			t.Fatal(err)
		}
	})
}
