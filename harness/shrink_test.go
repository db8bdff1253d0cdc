package harness

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/scenario"
)

func TestLeapsKeepOneStep(t *testing.T) {
	of := parse(t, faulted(threeOrders, at(`relay.0/broker "publish" #3 unanswered`, "kill")))
	want := []string{"o3", "o1"}
	var got []string
	for _, s := range leaps(of, "o3") {
		placed, _ := s.Orders()
		got = append(got, placed...)
		if text := s.Faults[0].String(); text != `kill at relay.0/broker "publish" #1 unanswered` {
			t.Errorf("the fault is %s", text)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("alone are %v, want %v", got, want)
	}
	if of.Faults[0].At.N != 3 || len(of.Workload) != 3 {
		t.Errorf("the scenario itself was changed: %+v", of)
	}
	for _, small := range []string{twoOrders, "workload: [{overlap: [{order: o1}, {order: o2}]}]\n"} {
		if list := leaps(parse(t, small), "o1"); len(list) != 0 {
			t.Errorf("%s has no need of %d leaps", small, len(list))
		}
	}
}

// What a run shrinks, and how far. A cell keeps its holds.
func TestWhatIsWorthShrinking(t *testing.T) {
	r := &run{findings: newFindings()}
	kill := at(`relay.0/broker "publish" #1 unanswered`, "kill")
	cut := at(`relay.0/postgres "commit" #1 before`, "cut")
	hold := `{at: 'relay.0/postgres "commit" #2 before', do: hold, until: 'relay.1/postgres "commit" #2 after'}`
	for _, c := range []struct {
		name, text string
		random     bool
		most       int // calls; 0 for not at all
	}{
		{"a cell of few orders", faulted(twoOrders, kill), false, 0},
		{"no fault, few orders", twoOrders, false, 0},
		{"a cell of more orders", faulted(threeOrders, kill), false, cellCalls},
		{"two faults", faulted(oneOrder, kill, cut), false, scenarioCalls},
		{"a random scenario", faulted(oneOrder, kill), true, scenarioCalls},
		{"a schedule of few orders", faulted(twoOrders, hold, kill), false, 0},
		{"a schedule of more orders", faulted(threeOrders, hold, kill), false, cellCalls},
		{"a chain", oneOrder + "segments: [{workload: [{place: {order: o2}}]}]\n", false, scenarioCalls},
	} {
		k := r.newShrinker(0, "no-lost-event", visit{scenario: parse(t, c.text), random: c.random})
		most := 0
		if k != nil {
			most = k.most
		}
		if most != c.most {
			t.Errorf("%s: %d calls, want %d", c.name, most, c.most)
		}
		if k != nil && (!k.only(parse(t, c.text)) || strings.Contains(c.text, "hold") && k.only(parse(t, faulted(oneOrder, kill)))) {
			t.Errorf("%s: what is worth a try is wrong", c.name)
		}
	}
}

// What keeps a schedule is taken away on proof alone: the schedule comes now and
// then without it, and luck would take that for smaller.
func TestAHoldLessTakesProof(t *testing.T) {
	r := &run{findings: newFindings()}
	kill := at(`consumer.0/postgres "insert effects" #1 unanswered`, "kill")
	dropping := `{at: 'consumer.0/postgres "insert effects" #1 unanswered', do: kill, drop: ['consumer.0/postgres "insert effects" #2 before']}`
	hold := `{at: 'consumer.0/postgres "insert effects" #1 before', do: hold, until: 'consumer.0/postgres "commit" #2 after'}`
	k := r.newShrinker(0, "applied-once", visit{scenario: parse(t, faulted(twoOrders, dropping, hold)), random: true})
	for text, want := range map[string]int{
		faulted(oneOrder, dropping, hold): holdReplays,
		faulted(twoOrders, kill, hold):    holdProof,
		faulted(twoOrders, dropping):      holdProof,
		faulted(twoOrders, kill):          holdProof,
	} {
		if s := parse(t, text); !k.only(s) || k.timesFailed(s) != want {
			t.Errorf("worth a try is %t, and it must fail %d times, want %d:\n%s", k.only(s), k.timesFailed(s), want, text)
		}
	}
	k = r.newShrinker(0, "applied-once", visit{scenario: parse(t, faulted(twoOrders, kill)), random: true})
	if n := k.timesFailed(parse(t, faulted(oneOrder, kill))); n != k.times {
		t.Errorf("what takes no schedule must fail %d times, want %d", n, k.times)
	}
}

func TestACellKeepsItsFault(t *testing.T) {
	of := parse(t, batchPace+faulted(threeOrders, killed(`relay.0/broker "publish" #2 unanswered`, "when backends are gone")))
	worth := sameButOrders(of)
	for text, want := range map[string]bool{
		batchPace + faulted(oneOrder, killed(`relay.0/broker "publish" #1 unanswered`, "when backends are gone")): true,
		faulted(oneOrder, killed(`relay.0/broker "publish" #1 unanswered`, "when backends are gone")):             false,
		batchPace + faulted(oneOrder, at(`relay.0/broker "publish" #1 unanswered`, "kill")):                       false,
		batchPace + oneOrder: false,
		"replicas: 1\n" + batchPace + faulted(oneOrder, killed(`relay.0/broker "publish" #1 unanswered`, "when backends are gone")): false,
	} {
		if worth(parse(t, text)) != want {
			t.Errorf("worth a try is %t for\n%s", !want, text)
		}
	}
}

func TestARandomScenarioIsExplainedByItsKnownFault(t *testing.T) {
	known := &finding{property: "no-lost-event", replayed: true, violation: &report.Violation{Reproduced: report.Reproduced{Failed: 1, Runs: 1}}}
	known.cause = causeOf(parse(t, faulted(oneOrder, at(`relay.0/broker "publish" #1 unanswered`, "kill"))).Faults[0])
	f := newFindings()
	f.list = []*finding{known}
	random := parse(t, faulted(twoOrders, at(`relay.*/broker "publish" #2 unanswered`, "kill"), at(`app.0/postgres "commit" #1 before`, "cut")))
	if f.explains("no-lost-event", random) != known.violation {
		t.Error("the kill is known")
	}
	if f.explains("applied-once", random) != nil {
		t.Error("another property was never violated by it")
	}
	if f.explains("no-lost-event", parse(t, faulted(twoOrders, at(`relay.0/broker "publish" #1 unanswered`, "cut")))) != nil {
		t.Error("a cut is no kill")
	}
	known.violation.Reproduced.Runs = 2
	if f.explains("no-lost-event", random) != nil {
		t.Error("what does not come every time explains nothing")
	}
}

// Two random scenarios that shrink to the same are one violation, of which one
// file is left.
func TestTheSameAgainIsCounted(t *testing.T) {
	dir := t.TempDir()
	small := parse(t, faulted(oneOrder, at(`relay.0/broker "publish" #1 unanswered`, "kill")))
	r := &run{findings: newFindings()}
	add := func(name, key string) *finding {
		t.Helper()
		x := &finding{property: "no-lost-event", base: filepath.Join(dir, name), violation: &report.Violation{Cells: 1}}
		r.findings.list = append(r.findings.list, x)
		r.findings.found["no-lost-event "+key] = x.violation
		if err := scenario.Save(x.base+".yaml", small); err != nil {
			t.Fatal(err)
		}
		return x
	}
	first, second := add("first", "one kind"), add("second", "another kind")
	for _, x := range []*finding{first, second} {
		if err := r.merge(x, small); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(r.findings.list, []*finding{first}) || first.violation.Cells != 2 {
		t.Errorf("%d findings, the first with %d cells", len(r.findings.list), first.violation.Cells)
	}
	if r.findings.found["no-lost-event another kind"] != first.violation {
		t.Error("what comes once more of the other kind is not counted to the one that is left")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || !slices.Equal(left, []string{first.base + ".yaml"}) {
		t.Errorf("%v was left, %v", left, err)
	}
}

// saved reads the scenario of a violation back.
func saved(t *testing.T, v report.Violation) scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(v.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A random scenario that fails is saved as the fault and the order that it takes,
// with the history of a trial of that.
func TestRandomScenariosAreShrunk(t *testing.T) {
	s := borrow(t)
	mutant := find(t, "mark-before-publish")
	o := Options{Out: t.TempDir(), Orders: 2, SkipSweep: true, ExploreTrials: 60, Seed: 3, StopAtFirst: true}
	result, err := s.Run(t.Context(), mutant.Target, o)
	if err != nil {
		t.Fatal(err)
	}
	v := conviction(t, result, mutant.Expected)
	t.Logf("%s: %+v", v.Fault, v.Shrunk)
	if v.Shrunk == nil || v.Shrunk.Calls == 0 {
		t.Fatalf("the violation was not shrunk: %+v", v.Shrunk)
	}
	small := saved(t, v)
	if n := size(small); n.Faults > 1 || n.Orders > 2 || small.Replicas > 1 || n != v.Shrunk.To || n.Orders > v.Shrunk.From.Orders {
		t.Errorf("shrunk from %+v, %+v", v.Shrunk.From, small)
	}
	if v.Fault != faults.FormatFaults(small.Faults) {
		t.Errorf("the report tells of %s, the file of %v", v.Fault, small.Faults)
	}
	judgedAgain(t, v, mutant.Expected)
	for i, again := range attempt(t, s, mutant.Target, small, replays(t, 3)) {
		if !slices.Contains(again.violated(), mutant.Expected) {
			t.Errorf("replay %d: %s", i+1, again.told())
		}
	}
}

// Of a cell of the sweep the orders are shrunk, and its fault stays.
func TestCellsAreShrunkToTheirOrders(t *testing.T) {
	s := borrow(t)
	r := prepared(t, s, find(t, "save-then-send").Target)
	text := faulted(threeOrders, at(`app.0/postgres "commit" #3 unanswered`, "kill"))
	v, err := r.try(t.Context(), 0, parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.take(t.Context(), 0, v, "stepwise"); err != nil {
		t.Fatal(err)
	}
	if len(r.findings.list) != 1 {
		t.Fatalf("%d findings: %s", len(r.findings.list), v.told())
	}
	x := r.findings.list[0]
	if x.violation.Shrunk == nil || x.violation.Shrunk.From != (report.Size{Orders: 3, Faults: 1}) {
		t.Fatalf("not shrunk: %+v", x.violation.Shrunk)
	}
	small := saved(t, *x.violation)
	want := parse(t, faulted("workload:\n  - place: {order: o3, customer: c2}\n", at(`app.0/postgres "commit" #1 unanswered`, "kill")))
	if !reflect.DeepEqual(small, want) || x.violation.Order != "o3" {
		t.Errorf("%s of %+v, want %+v", x.violation.Order, small, want)
	}
	if !x.always() || x.kind != kindOfPoint(v.scenario) {
		t.Errorf("the finding is %+v with %+v", x, x.violation.Reproduced)
	}
}

// A race that was seen once comes back every time, by holds that are saved.
func TestARaceIsFoundAgainByHolds(t *testing.T) {
	s := borrow(t)
	target := variation(t, "relay-gives-up-on-what-another-tried")
	target.Relay.Replicas = 2
	target.SchemaSQL = append(slices.Clone(target.SchemaSQL), triesSchema)
	r := prepared(t, s, target)
	race := parse(t, oneOrder)
	// Nobody can wait for a race: it is made, and then looked for without knowing how.
	made := race
	for _, text := range []string{
		`hold at relay.0/postgres "insert attempts" #1 before until relay.1/postgres "update outbox" #1 after`,
		`hold at relay.1/postgres "insert attempts" #1 before until relay.0/postgres "update outbox" #1 after`,
	} {
		f, err := faults.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		made.Faults = append(made.Faults, f)
	}
	v, err := r.try(t.Context(), 0, made)
	if err != nil {
		t.Fatal(err)
	}
	if !violates(v.judgement, "no-lost-event") {
		t.Fatalf("the race loses nothing: %s", v.told())
	}
	v.scenario = race
	if err := r.take(t.Context(), 0, v, "stepwise"); err != nil {
		t.Fatal(err)
	}
	x := r.findings.list[0]
	told := strings.Join(report.Details(*x.violation), "\n")
	if x.violation.Holds == nil || !x.violation.Holds.Found || !x.always() || !strings.Contains(told, "which holds bring back every time") {
		t.Fatalf("the race was not found again:\n%s", told)
	}
	small := saved(t, *x.violation)
	if len(small.Faults) == 0 || slices.ContainsFunc(small.Faults, func(f faults.Fault) bool { return f.Do != faults.Hold }) {
		t.Errorf("the scenario holds nothing: %+v", small)
	}
	t.Logf("%s: %+v, %+v", x.violation.Fault, x.violation.Holds, x.violation.Shrunk)
	judgedAgain(t, *x.violation, "no-lost-event")
	// Which relay starts first is nobody's choice, and the holds let either do so.
	for i, again := range attempt(t, s, target, small, replays(t, 5)) {
		if !slices.Contains(again.violated(), "no-lost-event") {
			t.Errorf("replay %d is %s: %s", i+1, again.judgement.Verdict, again.told())
		}
	}
	if left, err := filepath.Glob(filepath.Join(r.options.Out, "failures", "*.yaml")); err != nil || len(left) != 1 {
		t.Errorf("%v was left, %v", left, err)
	}
}
