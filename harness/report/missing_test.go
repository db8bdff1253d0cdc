package report

import (
	"slices"
	"testing"
)

// The shards that are missing are told in ranges, and only the first of many.
func TestMissingShardsAreRanges(t *testing.T) {
	for _, c := range []struct {
		name    string
		of      int
		missing func(int) bool
		want    string
	}{
		{"one", 20, func(i int) bool { return i == 12 }, "missing: shard 12/20"},
		{"ranges", 20, func(i int) bool { return i >= 3 && i <= 7 || i == 12 || i >= 19 }, "missing: shards 3-7, 12, 19-20 of 20"},
		{"neighbours", 3, func(i int) bool { return i > 1 }, "missing: shards 2-3 of 3"},
		{"nearly all", MaxShards, func(i int) bool { return i > 1 }, "missing: shards 2-1000 of 1000"},
		{"every other", MaxShards, func(i int) bool { return i%2 == 0 }, "missing: shards 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and 490 more of 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var parts []Result
			var from []string
			for i := 1; i <= c.of; i++ {
				if !c.missing(i) {
					p := shards()[0]
					p.Shard = &Shard{i, c.of}
					parts, from = append(parts, p), append(from, p.Shard.String())
				}
			}
			got, err := Merge(parts, from)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Why, []string{c.want}) {
				t.Errorf("it says %q, want %q", got.Why, c.want)
			}
		})
	}
}
