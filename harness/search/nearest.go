package search

import (
	"slices"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// onTheWire puts a point on the wire in the place of a time on the clock.
func onTheWire(s scenario.Scenario, history []properties.Event) (list []scenario.Scenario) {
	for i, f := range s.Faults {
		if f.At != nil {
			continue
		}
		for _, p := range nearest(history, f) {
			list = append(list, changed(s, i, faults.Fault{At: &p, Do: f.Do, Then: f.Then}))
		}
	}
	return list
}

// nearest finds the points that were nearest when a fault on the clock struck,
// on the connections of what it struck: what had just happened, nearest first,
// and between that what would have come next.
func nearest(history []properties.Event, f faults.Fault) []faults.Point {
	const before, after = 4, 2
	struck := slices.IndexFunc(history, func(e properties.Event) bool {
		return e.Fault != nil && e.Fault.What == "fired" && e.Fault.Text == f.String()
	})
	if struck < 0 {
		return nil
	}
	was := passed(history[:struck], f.On)
	slices.Reverse(was)
	was = was[:min(before, len(was))]
	next := passed(history[struck:], f.On)
	next = next[:min(after, len(next))]
	var points []faults.Point
	add := func(p faults.Point) {
		if !slices.Contains(points, p) {
			points = append(points, p)
		}
	}
	for i, p := range was {
		add(p)
		if i%2 == 1 && i/2 < len(next) {
			add(next[i/2])
		}
	}
	for _, p := range next {
		add(p)
	}
	return points
}

// passed lists the moments that passed on the links, in their order. An
// exchange without an answer was perhaps processed: that moment comes last.
func passed(history []properties.Event, on faults.Link) (points []faults.Point) {
	open := map[conversation]faults.Point{}
	var asked []conversation
	for _, e := range history {
		w := e.Wire
		if w == nil || w.Exchange == 0 || w.Label == "" || w.N == 0 {
			continue
		}
		link, err := faults.ParseLink(w.Link)
		if err != nil || !on.Instance.Matches(link.Instance) || on.Server != "" && on.Server != link.Server {
			continue
		}
		key := conversation{w.Conn, w.Exchange}
		p := faults.Point{Link: link, Label: w.Label, N: w.N}
		add := func(m faults.Moment) {
			p.Moment = m
			points = append(points, p)
		}
		switch w.What {
		case properties.WireRequest:
			add(faults.Before)
			p.Moment = faults.Unanswered
			open[key], asked = p, append(asked, key)
		case properties.WireAnswered:
			add(faults.Unanswered)
			delete(open, key)
		case properties.WireReply:
			if _, withheld := open[key]; withheld {
				add(faults.Unanswered)
			}
			add(faults.After)
			delete(open, key)
		case properties.WireOneWay, properties.WirePush:
			add(faults.Before)
			add(faults.After)
		}
	}
	for _, key := range asked {
		if p, unanswered := open[key]; unanswered {
			points = append(points, p)
		}
	}
	return points
}
