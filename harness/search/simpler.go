package search

import (
	"slices"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// simplification lists scenarios that are simpler than the given one in one
// respect and in no respect less simple that comes before it in
// [simplifications], so that shrinking comes to an end. None of them shares
// what it changes with the given one.
type simplification func(s scenario.Scenario) []scenario.Scenario

// simplifications are what a shrinking tries, in this order: what takes most
// away comes first, and occurrences come before orders, because a fault at a
// first occurrence needs no orders before it.
func simplifications(history []properties.Event) []simplification {
	return []simplification{
		fewerSegments,
		fewerFaults,
		func(s scenario.Scenario) []scenario.Scenario { return onTheWire(s, history) },
		earlier,
		fewerOrders,
		apart,
		func(s scenario.Scenario) []scenario.Scenario { return fewerReplicas(s, history) },
		stepwise,
		atOnce,
		fewerDrops,
		plainerKinds,
	}
}

// fewerSegments keeps one segment alone, the last first, and then leaves one out.
func fewerSegments(s scenario.Scenario) (list []scenario.Scenario) {
	all := s.All()
	if len(all) == 1 {
		return nil
	}
	of := func(segments []scenario.Segment) scenario.Scenario {
		out := s
		out.Pace, out.Workload, out.Faults = segments[0].Pace, segments[0].Workload, segments[0].Faults
		out.Segments = segments[1:len(segments):len(segments)]
		if len(out.Segments) == 0 {
			out.Segments = nil
		}
		return out
	}
	for i := len(all) - 1; i >= 0; i-- {
		list = append(list, of(all[i:i+1]))
	}
	for i := range all {
		list = append(list, of(slices.Delete(slices.Clone(all), i, i+1)))
	}
	return list
}

// fewerFaults keeps one fault alone, and then leaves one out.
func fewerFaults(s scenario.Scenario) (list []scenario.Scenario) {
	keep := func(faults []faults.Fault) {
		out := s
		out.Faults = faults
		if len(faults) == 0 {
			out.Faults = nil
		}
		list = append(list, out)
	}
	if len(s.Faults) > 1 {
		for i := range s.Faults {
			keep(slices.Clone(s.Faults[i : i+1]))
		}
	}
	for i := range s.Faults {
		keep(slices.Delete(slices.Clone(s.Faults), i, i+1))
	}
	return list
}

// changed returns the scenario with fault i replaced.
func changed(s scenario.Scenario, i int, f faults.Fault) scenario.Scenario {
	s.Faults = slices.Clone(s.Faults)
	s.Faults[i] = f
	return s
}

// apart turns overlaps into orders one after another.
func apart(s scenario.Scenario) (list []scenario.Scenario) {
	for i, step := range s.Workload {
		if len(step.Overlap) == 2 {
			list = append(list, replaced(s, i, placing(step.Overlap[0]), placing(step.Overlap[1])))
		}
	}
	return list
}

func placing(o scenario.Order) scenario.Step { return scenario.Step{Place: &o} }

// replaced returns the scenario with other steps in the place of step i.
func replaced(s scenario.Scenario, i int, steps ...scenario.Step) scenario.Scenario {
	s.Workload = slices.Replace(slices.Clone(s.Workload), i, i+1, steps...)
	return s
}

// fewerReplicas starts fewer relays. Faults on a relay that is no more are then
// on the first.
func fewerReplicas(s scenario.Scenario, history []properties.Event) (list []scenario.Scenario) {
	most := s.Replicas
	if most == 0 {
		most = replicasOf(s, history)
	}
	for n := 1; n < most; n++ {
		out := s
		out.Replicas = n
		out.Faults = nil
		for _, f := range s.Faults {
			out.Faults = append(out.Faults, moved(f, func(p faults.Point) faults.Point {
				p.Link.Instance = among(n, p.Link.Instance)
				return p
			}))
		}
		for i := range out.Faults {
			out.Faults[i].On.Instance = among(n, out.Faults[i].On.Instance)
		}
		list = append(list, out)
	}
	return list
}

// replicasOf finds how many relays take part in a scenario that leaves their
// number to the manifest; 0 when nothing shows more than one.
func replicasOf(s scenario.Scenario, history []properties.Event) int {
	most := 0
	see := func(i faults.Instance) {
		switch {
		case i.Role != "relay":
		case i.Index == faults.Any:
			most = max(most, 2)
		case i.Index > 0:
			most = max(most, i.Index+1)
		}
	}
	for _, f := range s.Faults {
		see(f.On.Instance)
		moved(f, func(p faults.Point) faults.Point {
			see(p.Link.Instance)
			return p
		})
	}
	for _, e := range history {
		if e.Process == nil {
			continue
		}
		if i, err := faults.ParseInstance(e.Process.Instance); err == nil {
			see(i)
		}
	}
	return most
}

// among is the instance where there are n relays.
func among(n int, i faults.Instance) faults.Instance {
	if i.Role == "relay" && (i.Index >= n || i.Index == faults.Any && n == 1) {
		i.Index = 0
	}
	return i
}

// moved returns the fault with each of its points replaced.
func moved(f faults.Fault, to func(faults.Point) faults.Point) faults.Fault {
	if f.At != nil {
		p := to(*f.At)
		f.At = &p
	}
	if f.Until != nil {
		p := to(*f.Until)
		f.Until = &p
	}
	f.Drop = slices.Clone(f.Drop)
	for i := range f.Drop {
		f.Drop[i] = to(f.Drop[i])
	}
	return f
}

func stepwise(s scenario.Scenario) []scenario.Scenario {
	if s.Pace != scenario.Batch {
		return nil
	}
	s.Pace = ""
	return []scenario.Scenario{s}
}

// atOnce restarts at once what is killed.
func atOnce(s scenario.Scenario) (list []scenario.Scenario) {
	for i, f := range s.Faults {
		if f.Then.Restart != "" {
			f.Then.Restart = ""
			list = append(list, changed(s, i, f))
		}
	}
	return list
}

// fewerDrops drops nothing, and then one message less.
func fewerDrops(s scenario.Scenario) (list []scenario.Scenario) {
	for i, f := range s.Faults {
		drops := f.Drop
		if len(drops) == 0 {
			continue
		}
		f.Drop = nil
		list = append(list, changed(s, i, f))
		for j := range drops {
			if f.Drop = slices.Delete(slices.Clone(drops), j, j+1); len(f.Drop) > 0 {
				list = append(list, changed(s, i, f))
			}
		}
	}
	return list
}

// plainerKinds breaks a connection where it was left hanging.
func plainerKinds(s scenario.Scenario) (list []scenario.Scenario) {
	for i, f := range s.Faults {
		if f.Do == faults.Hang {
			f.Do = faults.Cut
			list = append(list, changed(s, i, f))
		}
	}
	return list
}
