package harness

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {Index: 1, Of: 1}, "1/3": {Index: 1, Of: 3}, "3/3": {Index: 3, Of: 3}} {
		if got, err := ParseShard(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "/", "1/", "/3", "0/3", "4/3", "-1/3", "1/0", "1/-3", "a/b", "1/3/5", "1 / 3", "1.0/3", "1/1000001",
		"01/02", "1/02", "+1/2", "1/+2", "-0/2", "1_0/20", "１/2"} {
		if got, err := ParseShard(text); err == nil || !strings.Contains(err.Error(), "is no shard") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// The shards of a run, joined, say of every cell what the whole run says. Each
// records its own runs.
func TestTheUnionOfTheShardsIsTheWholeRun(t *testing.T) {
	s := borrow(t)
	o := Options{Out: t.TempDir(), Orders: 1, Points: "relay.0/broker"}
	run := func(shard Shard) Result {
		t.Helper()
		o := o
		o.Shard = shard
		r, err := s.Run(t.Context(), reference(t), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != properties.Pass {
			t.Fatalf("shard %s: %s: %v", shard, report.Headline(r), report.Reasons(r))
		}
		return r
	}
	whole := run(Shard{})
	const of = 3
	var parts []Result
	var names []string
	exercised := 0
	for i := 1; i <= of; i++ {
		p := run(Shard{Index: i, Of: of})
		if p.Points.Exercised == 0 || p.Points.Total != whole.Points.Total {
			t.Errorf("shard %d: %+v of %+v", i, p.Points, whole.Points)
		}
		exercised += p.Points.Exercised
		parts = append(parts, p)
		names = append(names, fmt.Sprint("shard ", i))
	}
	if exercised != whole.Points.Exercised {
		t.Errorf("the shards visit %d cells, the whole run %d: each cell is in one shard", exercised, whole.Points.Exercised)
	}
	joined, err := report.Merge(parts, names)
	if err != nil {
		t.Fatal(err)
	}
	if joined.Verdict != properties.Pass || joined.Points != whole.Points || joined.PlanDigest != whole.PlanDigest {
		t.Errorf("joined %s, %+v, %v; whole %+v", joined.Verdict, joined.Points, report.Reasons(joined), whole.Points)
	}
	if got, want := statuses(joined), statuses(whole); !reflect.DeepEqual(got, want) {
		t.Errorf("joined:\n%v\nwhole:\n%v", got, want)
	}
	if len(statuses(whole)) < 20 {
		t.Errorf("only %d cells were compared", len(statuses(whole)))
	}
}

// statuses are what a result says of each cell.
func statuses(r Result) map[string]string {
	all := map[string]string{}
	for _, row := range r.Matrix {
		for _, c := range row.Cells {
			all[row.Run+row.After+": "+row.Text(c)] = string(c.Status) + " " + c.Reason
		}
	}
	return all
}
