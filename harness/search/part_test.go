package search

import (
	"fmt"
	"slices"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
)

// deck is a number of cells of each of some ranks, likeliest first.
func deck(perRank ...int) []Cell {
	var cells []Cell
	for rank, n := range perRank {
		for i := range n {
			p := faults.Point{Link: link("relay.0/postgres"), Label: fmt.Sprintf("label %d", rank), N: i + 1, Moment: faults.After}
			cells = append(cells, Cell{Run: "stepwise", Rank: rank, Fault: faults.Fault{At: &p, Do: faults.Cut}})
		}
	}
	return cells
}

func link(text string) faults.Link {
	l, err := faults.ParseLink(text)
	if err != nil {
		panic(err)
	}
	return l
}

func TestPartsAreTheWhole(t *testing.T) {
	cells := deck(70, 10, 240, 30, 110)
	for n := 1; n <= 6; n++ {
		found := map[string]int{}
		for i := 1; i <= n; i++ {
			part := Part(cells, i, n)
			if !slices.IsSortedFunc(part, func(a, b Cell) int { return a.Rank - b.Rank }) {
				t.Errorf("shard %d/%d is not likeliest first", i, n)
			}
			for _, c := range part {
				found[c.String()]++
			}
			if len(part) < len(cells)/n/2 {
				t.Errorf("shard %d/%d has %d of %d cells", i, n, len(part), len(cells))
			}
		}
		for _, c := range cells {
			if found[c.String()] != 1 {
				t.Errorf("of %d shards %d have the cell %s", n, found[c.String()], c)
			}
		}
	}
}

func TestPartDoesNotDependOnTheOrderOfTheRecording(t *testing.T) {
	cells := deck(9, 9)
	turned := slices.Clone(cells)
	slices.Reverse(turned)
	for i := 1; i <= 4; i++ {
		one, two := texts(Part(cells, i, 4)), texts(Part(turned, i, 4))
		slices.Reverse(two)
		if !slices.Equal(one, two) {
			t.Errorf("shard %d/4 is %v, but %v when the cells come in another order", i, one, two)
		}
	}
}

func TestACellMoreMovesNoOther(t *testing.T) {
	fewer, more := deck(4, 9, 9), deck(5, 9, 9)
	for i := 1; i <= 3; i++ {
		one, two := texts(Part(fewer, i, 3)), texts(Part(more, i, 3))
		for _, c := range one {
			if !slices.Contains(two, c) {
				t.Errorf("shard %d/3 has %s no longer, with one more cell in all", i, c)
			}
		}
	}
}

func TestPartOfNoShards(t *testing.T) {
	cells := deck(3)
	for _, c := range []struct{ i, n, want int }{{1, 1, 3}, {0, 0, 3}, {0, 2, 0}, {3, 2, 0}} {
		if got := len(Part(cells, c.i, c.n)); got != c.want {
			t.Errorf("shard %d/%d has %d cells, want %d", c.i, c.n, got, c.want)
		}
	}
}

func TestShuffledIsTheSameForTheSameSeed(t *testing.T) {
	cells := deck(20, 20)
	one := Shuffled(cells, 3)
	turned := slices.Clone(cells)
	slices.Reverse(turned)
	if !slices.Equal(texts(one), texts(Shuffled(turned, 3))) {
		t.Error("the order of seed 3 depends on the order of the cells")
	}
	if slices.Equal(texts(one), texts(Shuffled(cells, 4))) {
		t.Error("seeds 3 and 4 give the same order")
	}
	if slices.IsSortedFunc(one, func(a, b Cell) int { return a.Rank - b.Rank }) {
		t.Error("the ranks have a say")
	}
	names := texts(one)
	slices.Sort(names)
	all := texts(cells)
	slices.Sort(all)
	if !slices.Equal(names, all) {
		t.Error("shuffling loses or repeats cells")
	}
}

func TestShuffledIsTheSameWhateverTheTarget(t *testing.T) {
	cells := deck(20, 20)
	common := cells[5:25]
	whole := slices.DeleteFunc(Shuffled(cells, 7), func(c Cell) bool {
		return !slices.Contains(texts(common), c.Fault.String())
	})
	if !slices.Equal(texts(whole), texts(Shuffled(common, 7))) {
		t.Error("a target with more cells visits the common ones in another order")
	}
}
