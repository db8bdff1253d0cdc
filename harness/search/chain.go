package search

import (
	"fmt"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// stretch is the part of a recorded run that belongs to one step of its
// workload, or of a batch to all of them: from the call on, until the next
// step's.
type stretch struct {
	from, until int // places in the history
	workload    []scenario.Step
	// first: the processes and the tables are as new.
	first bool
}

// stretches cuts a recorded run at its calls.
func stretches(rec Recording) []stretch {
	calls := map[string]int{}
	for at, e := range rec.History {
		if e.Call != nil {
			if _, known := calls[e.Call.Order]; !known {
				calls[e.Call.Order] = at
			}
		}
	}
	var list []stretch
	for _, step := range rec.Run.Scenario.Workload {
		at, called := calls[firstOrder(step)]
		if !called {
			return nil
		}
		if n := len(list); n > 0 {
			if rec.Run.Scenario.Pace == scenario.Batch {
				list[0].workload = append(list[0].workload, step)
				continue
			}
			list[n-1].until = at
		}
		list = append(list, stretch{from: at, until: len(rec.History), workload: []scenario.Step{step}})
	}
	if len(list) > 0 && rec.Run.Scenario.Pace != scenario.Batch {
		list[0].first = true
	}
	return list
}

// overlapBegins is the place in the history of an overlap run at which its
// transactions begin to overlap; 0 in any other run.
func overlapBegins(rec Recording) int {
	if rec.Run.Name != RunOverlap {
		return 0
	}
	all := stretches(rec)
	for i, step := range rec.Run.Scenario.Workload {
		if len(step.Overlap) > 0 && i < len(all) {
			return all[i].from
		}
	}
	return 0
}

func firstOrder(step scenario.Step) string {
	switch {
	case step.Place != nil:
		return step.Place.Order
	case step.Abort != nil:
		return step.Abort.Order
	}
	return step.Overlap[0].Order
}

// segments gives the cells that a chain can visit their segment: the step whose
// exchange is struck, with the occurrences counted from its call. What belongs
// to the start of the processes or to the first step of a run is visited in a
// trial of its own: only there everything is new.
func (d *deriver) segments() {
	all := stretches(d.rec)
	for i := range d.cells {
		d.cells[i].Segment = d.segment(all, d.cells[i].Fault)
	}
}

func (d *deriver) segment(all []stretch, f faults.Fault) *scenario.Segment {
	if f.Until != nil {
		return nil
	}
	points := append([]faults.Point{*f.At}, f.Drop...)
	var in *stretch
	for i := range points {
		e, found := d.find(points[i])
		// What sets a session up comes with a new process or connection; the
		// begins among it have their numbers only at the ends of transactions.
		if !found || setup(e.label) {
			return nil
		}
		s := stretchOf(all, e)
		if s == nil || s.first || in != nil && s != in {
			return nil
		}
		in = s
		before, sure := d.before(e, s.from)
		if !sure {
			return nil
		}
		// A name that came back after its number was given back is counted twice.
		if points[i].N -= before; points[i].N < 1 {
			return nil
		}
	}
	f.At, f.Drop = &points[0], points[1:]
	if len(f.Drop) == 0 {
		f.Drop = nil
	}
	return &scenario.Segment{Pace: d.rec.Run.Scenario.Pace, Workload: in.workload, Faults: []faults.Fault{f}}
}

// find returns the exchange that a point names.
func (d *deriver) find(p faults.Point) (exchange, bool) {
	for _, e := range d.all {
		n := e.n
		if p.Link.Index == faults.Any {
			n = e.among
		}
		if p.Link.Matches(e.link) && e.label == p.Label && n == p.N {
			return e, true
		}
	}
	return exchange{}, false
}

// Shows reports whether the run has the exchanges of all the fault's points.
func (rec Recording) Shows(f faults.Fault) bool {
	d := newDeriver(rec, Options{})
	for _, p := range append([]faults.Point{*f.At}, f.Drop...) {
		if _, found := d.find(p); !found {
			return false
		}
	}
	return true
}

// stretchOf returns the stretch that the whole of an exchange is in.
func stretchOf(all []stretch, e exchange) *stretch {
	for i := range all {
		if e.sent >= all[i].from && e.done < all[i].until {
			return &all[i]
		}
	}
	return nil
}

// before counts the occurrences of the exchange's name before a place of the
// history. It is not sure when one of them was under way there.
func (d *deriver) before(e exchange, at int) (n int, sure bool) {
	for _, x := range d.all {
		if x.link.Server != e.link.Server || x.label != e.label || x.link.Instance != e.link.Instance && !(d.shared[e.link.Role] && x.link.Role == e.link.Role) {
			continue
		}
		switch {
		case x.done < at:
			n++
		case x.sent < at:
			return 0, false
		}
	}
	return n, true
}

// Links is a chain: one scenario that visits several cells.
type Links struct {
	Scenario scenario.Scenario
	// Cells tells for each segment of the scenario's Segments which of the cells
	// it visits; -1 for an order in peace.
	Cells []int
	// Orders tells which order of the recorded run each of the scenario's repeats.
	Orders map[string]string
}

// Chain makes one scenario of cells of one run that have segments. It begins and
// ends with an order in peace, and so does a connection that was broken after a
// reply: the client learns of it at the next order, which it may refuse.
func Chain(cells []Cell) Links {
	of := cells[0].Scenario
	first := firstPlaced(of)
	out := Links{Orders: map[string]string{}}
	// Another token, and nothing else of the order, is new.
	rename := func(o scenario.Order) scenario.Order {
		was := o.Order
		o.Order = fmt.Sprintf("%s-%d", o.Order, len(out.Cells))
		out.Orders[o.Order] = was
		return o
	}
	peace := func() []scenario.Step {
		o := rename(first)
		return []scenario.Step{{Place: &o}}
	}
	out.Scenario = scenario.Scenario{Target: of.Target, Replicas: of.Replicas, Workload: peace()}
	add := func(s scenario.Segment, cell int) {
		out.Scenario.Segments = append(out.Scenario.Segments, s)
		out.Cells = append(out.Cells, cell)
	}
	out.Cells = []int{-1} // so that the first segment has a number of its own
	for i, c := range cells {
		segment := *c.Segment
		segment.Workload = nil
		for _, step := range c.Segment.Workload {
			switch {
			case step.Place != nil:
				o := rename(*step.Place)
				step.Place = &o
			case step.Abort != nil:
				o := rename(*step.Abort)
				step.Abort = &o
			default:
				step.Overlap = []scenario.Order{rename(step.Overlap[0]), rename(step.Overlap[1])}
			}
			segment.Workload = append(segment.Workload, step)
		}
		add(segment, i)
		if c.Fault.Do != faults.Kill && c.Fault.At.Moment == faults.After || i == len(cells)-1 {
			add(scenario.Segment{Workload: peace()}, -1)
		}
	}
	out.Cells = out.Cells[1:]
	return out
}

// firstPlaced is the first order that a scenario places.
func firstPlaced(s scenario.Scenario) scenario.Order {
	for _, step := range s.Workload {
		switch {
		case step.Place != nil:
			return *step.Place
		case len(step.Overlap) > 0:
			return step.Overlap[0]
		}
	}
	return order(1)
}

// Baseline is what the chain must show of its orders: what the recorded run
// showed of those that they repeat.
func (l Links) Baseline(of *properties.Baseline) *properties.Baseline {
	if of == nil {
		return nil
	}
	b := &properties.Baseline{Events: map[string]int{}}
	for is, was := range l.Orders {
		if n, known := of.Events[was]; known {
			b.Events[is] = n
		}
	}
	return b
}
