package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

const (
	// holdsBound is the largest number of scenarios that [Holds] proposes.
	holdsBound = 32
	// pinsBound is the largest number of those that keep where the others were
	// when a fault struck.
	pinsBound = 18
	// pinsNear are ahead of a reply that is late.
	pinsNear = 2
	// holdsAround is how many exchanges it looks at: of a longer history those
	// that are nearest to the violation.
	holdsAround = 1000
)

// Holds proposes scenarios that bring a schedule back: each is the scenario of a
// failing trial, and what keeps the order in which exchanges passed in it. They
// are likeliest first, at most thirty-two, each valid; none for a scenario with
// segments, whose occurrences begin anew in each.
//
// A fault is a moment on one connection. First come scenarios that keep where
// the others were when it struck: a hold lets what was ahead of it pass, and what
// was behind it is dropped with it or held until it has struck. A time on the
// clock is left out, or gives way to the nearest point.
//
// Then come holds that let exchanges of two instances pass in the order that the
// history has: instances of the same role, at the same table of the same server,
// near what the violation is about, come first. Where each of two instances was
// ahead of the other, both holds together come first, because then it does not
// matter which instance takes which part; and where they are replicas, a hold on
// the points that they share.
func Holds(history []properties.Event, s scenario.Scenario) []scenario.Scenario {
	if len(s.Segments) > 0 {
		return nil
	}
	p := &proposals{from: s, seen: map[string]bool{}}
	if text, err := scenario.Format(s); err == nil {
		p.seen[string(text)] = true // it did not fail every time
	}
	all := matters(history)
	places := focus(history, all)
	pins := pinned(history, s)
	near := min(len(pins), pinsNear)
	p.add(pins[:near]...)
	p.add(slowed(history, s, places)...)
	p.add(pins[near:min(len(pins), pinsBound)]...)
	if onTheClock(s) {
		return p.list
	}
	all = nearby(all, places, holdsAround)
	for _, o := range orderings(all, places) {
		if o.mirror != nil {
			p.with(o.hold(false), o.mirror.hold(false))
		}
		if o.first.link.Role == o.then.link.Role {
			p.with(o.hold(true))
		}
		p.with(o.hold(false))
		if len(p.list) >= holdsBound {
			return p.list[:holdsBound]
		}
	}
	return p.list
}

// proposals are scenarios, each once.
type proposals struct {
	from scenario.Scenario
	list []scenario.Scenario
	seen map[string]bool
}

// with proposes the scenario with holds more.
func (p *proposals) with(holds ...faults.Fault) {
	out := p.from
	out.Faults = append(slices.Clone(out.Faults), holds...)
	p.add(out)
}

// add proposes scenarios as they are.
func (p *proposals) add(list ...scenario.Scenario) {
	for _, s := range list {
		p.one(s)
	}
}

// one takes a scenario that can be carried out, once.
func (p *proposals) one(s scenario.Scenario) {
	for i, f := range s.Faults {
		if f.Do != faults.Hold {
			continue
		}
		for j, g := range s.Faults {
			if i != j && g.At != nil && *g.At == *f.At && (g.Do != faults.Hold || *g.Until == *f.Until) {
				return // a hold at the moment of a fault, or twice the same
			}
		}
	}
	text, err := scenario.Format(s)
	if err != nil || p.seen[string(text)] || s.Validate() != nil {
		return
	}
	p.seen[string(text)] = true
	p.list = append(p.list, s)
}

func onTheClock(s scenario.Scenario) bool {
	return slices.ContainsFunc(s.Faults, func(f faults.Fault) bool { return f.At == nil })
}

// passage is an exchange whose place in the order of things may matter, and the
// moment at which it had passed.
type passage struct {
	exchange
	had faults.Moment
}

// matters lists the exchanges that change something or find something, those
// included whose reply never reached the client.
func matters(history []properties.Event) (list []passage) {
	for _, x := range exchanges(history) {
		if !x.idle() && !setup(x.label) {
			list = append(list, passage{x, faults.After})
		}
	}
	own := ownRoles(history)
	sent, withheld := map[conversation]int{}, map[conversation]passage{}
	counts := newNumbers()
	for at, e := range history {
		w := e.Wire
		if w == nil {
			continue
		}
		link, err := faults.ParseLink(w.Link)
		if err != nil || !own[link.Role] {
			continue
		}
		key := conversation{w.Conn, w.Exchange}
		among := counts.see(link, w)
		switch w.What {
		case properties.WireRequest:
			sent[key] = at
		case properties.WireAnswered:
			withheld[key] = passage{exchange{
				link: link, label: w.Label, n: w.N, among: among, conn: w.Conn, sent: sent[key], done: at, write: w.Write, ended: w.Ended != "",
			}, faults.Unanswered}
		case properties.WireReply:
			delete(withheld, key)
		}
	}
	for _, x := range withheld {
		if !x.idle() && !setup(x.label) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b passage) int { return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.done, b.done)) })
	return list
}

// focus finds the places in a history that its violations are about: where
// their orders were asked for, published and delivered. Without any it is the
// last exchange that matters.
func focus(history []properties.Event, all []passage) (places []int) {
	about := map[string]bool{}
	for _, r := range properties.Judge(history).Results {
		for _, v := range r.Violations {
			about[v.Order] = v.Order != ""
		}
	}
	for at, e := range history {
		carries := e.Wire != nil && slices.ContainsFunc(e.Wire.Carried(), func(c properties.Carried) bool { return about[c.Order] })
		if e.Call != nil && about[e.Call.Order] || carries {
			places = append(places, at)
		}
	}
	if len(places) == 0 && len(all) > 0 {
		places = []int{all[len(all)-1].done}
	}
	return places
}

// ordering is what a hold forces: that first has passed when then goes on.
type ordering struct {
	first, then passage
	class       int // of the two, the likeliest to race first
	distance    int // from what the violation is about
	gap         int // between the two
	// mirror is the ordering with the parts exchanged, if the history shows it
	// too: the instance that waits had itself been ahead of the other.
	mirror *ordering
}

// orderings lists the orderings that a history shows between instances. Before
// each request of an instance it is the last of every other instance that
// counts, and the last at the same table.
func orderings(all []passage, places []int) (list []ordering) {
	for i, then := range all {
		// What only its reply tells cannot be held back by its name, and a
		// server's own message is no request.
		if then.blind || then.shape == push || then.had != faults.After {
			continue
		}
		last, lastAtTable := map[faults.Instance]bool{}, map[faults.Instance]bool{}
		for j := i - 1; j >= 0; j-- {
			first := all[j]
			in := first.link.Instance
			if first.done > then.sent || in == then.link.Instance {
				continue
			}
			together := first.link.Server == then.link.Server && subject(first.label) == subject(then.label)
			if last[in] && (!together || lastAtTable[in]) {
				continue
			}
			last[in], lastAtTable[in] = true, lastAtTable[in] || together
			o := ordering{
				first: first, then: then, class: classOf(first, then, together),
				distance: distance(places, then.sent), gap: then.sent - first.done,
			}
			o.mirror = o.turned(all)
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b ordering) int {
		if a.class == b.class && (a.mirror == nil) != (b.mirror == nil) {
			if a.mirror != nil {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.distance, b.distance), cmp.Compare(a.gap, b.gap))
	})
	return list
}

// classOf tells what kind of race two passages of different instances can be.
func classOf(a, b passage, together bool) int {
	class := 0
	if a.link.Role != b.link.Role {
		class += 3
	}
	switch {
	case together:
	case a.link.Server == b.link.Server:
		class++
	default:
		class += 2
	}
	return class
}

// subject is what a label is about: the last of its words, or the verb itself.
func subject(label string) string {
	return label[strings.LastIndexByte(label, ' ')+1:]
}

// nearby keeps the exchanges that are nearest to the places, at most so many.
func nearby(all []passage, places []int, most int) []passage {
	if len(all) <= most {
		return all
	}
	list := slices.Clone(all)
	slices.SortStableFunc(list, func(a, b passage) int {
		return cmp.Compare(distance(places, a.sent), distance(places, b.sent))
	})
	list = list[:most]
	slices.SortStableFunc(list, func(a, b passage) int { return cmp.Compare(a.sent, b.sent) })
	return list
}

func distance(places []int, at int) int {
	nearest := -1
	for _, p := range places {
		if d := max(p-at, at-p); nearest < 0 || d < nearest {
			nearest = d
		}
	}
	return nearest
}

// turned finds the mirror of an ordering between two instances of one role.
func (o ordering) turned(all []passage) *ordering {
	if o.first.link.Role != o.then.link.Role {
		return nil
	}
	m := ordering{}
	ahead := false
	for _, x := range all {
		switch {
		case x.link.Instance == o.then.link.Instance && x.sent < o.then.sent:
			if x.link.Server == o.first.link.Server && x.label == o.first.label {
				m.first, ahead = x, true
			}
		case x.link.Instance == o.first.link.Instance && x.sent > o.first.sent && m.then.label == "":
			if x.link.Server == o.then.link.Server && x.label == o.then.label {
				m.then = x
			}
		}
	}
	if !ahead || m.then.label == "" || m.then.blind || m.then.had != faults.After || m.first.done >= m.then.sent {
		return nil
	}
	return &m
}

// hold is the fault that forces the ordering, on the instances that the history
// names or, if shared is set, on the points that the replicas share: whichever
// gets there first is what a schedule decides.
func (o ordering) hold(shared bool) faults.Fault {
	return faults.Fault{At: o.then.point(faults.Before, shared), Do: faults.Hold, Until: o.first.point(o.first.had, shared)}
}
