package search

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// Part returns the cells of shard i of n, counted from 1, in the order in which
// they are given. Which shard has a cell follows from the cell's name alone, so
// that machines whose recordings differ in some exchanges agree on all others.
// The shards of the same cells are disjoint, and together they are the whole.
// With n of 1 or less it is the whole; an i that is none of the shards has no cells.
func Part(cells []Cell, i, n int) []Cell {
	if n <= 1 {
		return slices.Clone(cells)
	}
	var part []Cell
	for _, c := range cells {
		if lot(0, c.String())%uint64(n) == uint64(i-1) {
			part = append(part, c)
		}
	}
	return part
}

// Shuffled returns the cells in an order that a seed gives, in which no rule has
// a say. A cell's place among others follows from the seed and its name alone:
// cells that two targets have in common come in the same order for both.
func Shuffled(cells []Cell, seed uint64) []Cell {
	type ticket struct {
		number uint64
		cell   Cell
	}
	tickets := make([]ticket, 0, len(cells))
	for _, c := range cells {
		tickets = append(tickets, ticket{lot(seed, c.String()), c})
	}
	slices.SortStableFunc(tickets, func(a, b ticket) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.cell.String(), b.cell.String()))
	})
	list := make([]Cell, 0, len(cells))
	for _, t := range tickets {
		list = append(list, t.cell)
	}
	return list
}

// lot draws a number for a name: the same for the same seed.
func lot(seed uint64, name string) uint64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, seed))
	h.Write([]byte(name))
	return scatter(h.Sum64())
}

// scatter spreads numbers that differ little over all of their bits, one to
// one, as the SplitMix64 generator does with its state.
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
