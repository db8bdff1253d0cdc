package search

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/outboxtest/outboxtest/faults"
)

// aim is what a draw may be told to strike: an exchange of the recorded runs,
// a moment of it, and a kind of fault.
type aim struct {
	spot   int // in Space.points
	moment faults.Moment
	do     faults.Kind
	name   string // tells aims apart, without occurrence and replica
}

func aimName(l faults.Link, label string, m faults.Moment, do faults.Kind) string {
	return fmt.Sprintf("%s at %s/%s %q %s", do, l.Role, l.Server, label, m)
}

// aims lists every aim of the space once.
func (s Space) aims() (list []aim) {
	seen := map[string]bool{}
	for i, p := range s.points {
		for _, m := range p.moments {
			for _, do := range s.kinds {
				name := aimName(p.link, p.label, m, do)
				if !seen[name] {
					seen[name] = true
					list = append(list, aim{i, m, do, name})
				}
			}
		}
	}
	return list
}

// Visited returns the space with the kinds of points, moments and faults that
// were visited already: occurrences, replicas and restarts are not told apart.
// Three of four draws aim at what was not, each at another one while there are
// any, and after that at one after another of all: a walk in an order that the
// seed gives, whose steps the number of the draw counts, so that no draw depends
// on when another came to its end. The fourth aims at nothing.
func (s Space) Visited(list []faults.Fault) Space {
	visited := map[string]bool{}
	for _, f := range list {
		if f.At != nil {
			visited[aimName(f.At.Link, f.At.Label, f.At.Moment, f.Do)] = true
		}
	}
	s.fresh = slices.DeleteFunc(slices.Clone(s.all), func(a aim) bool { return visited[a.name] })
	return s
}

// aimOf is the aim of the i-th draw; nil when it has none.
func (s Space) aimOf(seed uint64, i int) *aim {
	if len(s.all) == 0 {
		return nil
	}
	// Which of four has no aim changes from four to four: shards that take
	// every n-th draw each get their share.
	four, place := i/4, i%4
	without := int(lot(seed, fmt.Sprint("four ", four)) % 4)
	if place == without {
		return nil
	}
	if place > without {
		place--
	}
	step, walk, lap := 3*four+place, s.fresh, 0
	if step >= len(walk) {
		step -= len(walk)
		walk, lap = s.all, 1+step/len(s.all)
		step %= len(s.all)
	}
	lots := make(map[string]uint64, len(walk))
	for _, a := range walk {
		lots[a.name] = lot(seed, fmt.Sprint("lap ", lap, a.name))
	}
	walk = slices.Clone(walk)
	slices.SortFunc(walk, func(a, b aim) int {
		return cmp.Or(cmp.Compare(lots[a.name], lots[b.name]), cmp.Compare(a.name, b.name))
	})
	return &walk[step]
}
