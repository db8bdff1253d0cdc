package search

import (
	"reflect"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
)

func space(kinds ...faults.Kind) Space {
	return NewSpace(Shape{Target: "polling", Orders: 3, Aborts: true, Overlaps: true}, []Recording{relay("").recording()}, 2, kinds)
}

// struckBy are the distinct kinds of points, moments and faults with which some
// draws begin.
func struckBy(space Space, draws int) map[string]bool {
	found := map[string]bool{}
	for i := range draws {
		if f := space.Draw(5, i).Faults[0]; f.At != nil {
			found[aimName(f.At.Link, f.At.Label, f.At.Moment, f.Do)] = true
		}
	}
	return found
}

func TestDrawsVisitEveryMomentBeforeTheyComeBack(t *testing.T) {
	aimed := space(faults.Kill, faults.Cut, faults.Hang)
	all := len(aimed.all)
	if all < 50 {
		t.Fatalf("the recording gives only %d aims", all)
	}
	if found := struckBy(aimed, 4*all/3+4); len(found) != all {
		t.Errorf("of %d kinds of faults %d draws strike %d", all, 4*all/3+4, len(found))
	}
	// What the draws would be without an aim.
	blind := aimed
	blind.all, blind.fresh = nil, nil
	if one, two := struckBy(aimed, all), struckBy(blind, all); len(one)*10 < len(two)*13 {
		t.Errorf("%d draws begin with %d kinds of faults when they aim, and with %d when not", all, len(one), len(two))
	}
}

func TestDrawsPreferWhatWasNotVisited(t *testing.T) {
	cells, _ := Cells(relay("").recording(), Options{})
	var visited []faults.Fault
	for _, c := range cells {
		visited = append(visited, c.Fault)
	}
	s := space().Visited(visited)
	if len(s.fresh) == 0 || len(s.fresh) >= len(s.all) {
		t.Fatalf("of %d aims %d are not visited", len(s.all), len(s.fresh))
	}
	unvisited := map[string]bool{}
	for _, a := range s.fresh {
		unvisited[a.name] = true
	}
	draws, first := len(s.fresh)*4/3, 0
	for i := range draws {
		f := s.Draw(9, i).Faults[0]
		if f.At != nil && unvisited[aimName(f.At.Link, f.At.Label, f.At.Moment, f.Do)] {
			first++
		}
	}
	if first*4 < draws*3-4 {
		t.Errorf("of %d draws only %d begin with what was not visited", draws, first)
	}
	found := struckBy(s, 4*len(s.fresh)/3+4)
	for name := range unvisited {
		if !found[name] {
			t.Errorf("never struck: %s", name)
		}
	}
}

func TestEveryShardOfTheDrawsHasItsAims(t *testing.T) {
	s := space()
	for n := 2; n <= 6; n++ {
		for shard := range n {
			aims, draws := 0, 0
			for i := shard; i < 400; i += n {
				draws++
				if s.aimOf(1, i) != nil {
					aims++
				}
			}
			if share := float64(aims) / float64(draws); share < 0.6 || share > 0.9 {
				t.Errorf("shard %d/%d aims %.0f%% of its draws", shard+1, n, 100*share)
			}
		}
	}
}

func TestAimedDrawsAreTheSameForTheSameSeed(t *testing.T) {
	s := space().Visited([]faults.Fault{{At: point(t, `relay.0/broker "publish" #2 before`), Do: faults.Cut}})
	for i := range 60 {
		one, two := s.Draw(2, i), s.Draw(2, i)
		if !reflect.DeepEqual(one, two) {
			t.Fatalf("draw %d is once %+v and once %+v", i, one, two)
		}
		if err := one.Validate(); err != nil {
			t.Errorf("draw %d: %v", i, err)
		}
	}
	if len(s.all)-len(s.fresh) != 1 {
		t.Errorf("one fault was visited, and %d aims of %d are left", len(s.fresh), len(s.all))
	}
}
