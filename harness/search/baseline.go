package search

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
)

// plain is the stepwise run as the searches see it to which a sweep is
// compared: they know nothing of what is likely.
type plain struct {
	scenario    scenario.Scenario
	points      []faults.Point
	instances   []faults.Instance
	links       []faults.Link
	first, last time.Duration // of the exchanges, since the workload began
}

func newPlain(recordings []Recording) plain {
	if len(recordings) == 0 {
		return plain{}
	}
	at := max(0, slices.IndexFunc(recordings, func(r Recording) bool { return r.Run.Name == RunStepwise }))
	rec := recordings[at]
	p := plain{scenario: rec.Run.Scenario}
	d := newDeriver(rec, Options{})
	begin := workloadBegin(rec.History)
	for i, x := range d.all {
		sent, done := rec.History[x.sent].At-begin, rec.History[x.done].At-begin
		if i == 0 {
			p.first = max(0, sent)
		}
		p.last = max(p.last, done)
		if !slices.Contains(p.links, x.link) {
			p.links = append(p.links, x.link)
		}
		if !slices.Contains(p.instances, x.link.Instance) {
			p.instances = append(p.instances, x.link.Instance)
		}
		// How often a relay polls is another number in every run.
		if x.idle() && x.n > 1 {
			continue
		}
		for _, m := range x.moments() {
			if point := *x.point(m, d.shared[x.link.Role]); !slices.Contains(p.points, point) {
				p.points = append(p.points, point)
			}
		}
	}
	return p
}

// RandomMoment returns the i-th scenario of a seed with one fault at a random
// moment: every occurrence of an exchange of the stepwise run, every moment of
// it and every kind of fault is equally likely.
func (s Space) RandomMoment(seed uint64, i int) scenario.Scenario {
	out := s.plain.scenario
	if len(s.plain.points) == 0 || len(s.kinds) == 0 {
		return out
	}
	r := source(seed, i)
	p := pick(r, s.plain.points)
	out.Faults = []faults.Fault{{At: &p, Do: pick(r, s.kinds)}}
	return out
}

// RandomClock returns the i-th scenario of a seed with one fault at a random
// time, as chaos tools strike: a fault of any kind, on any instance or link of
// the target, at any time between the first and the last exchange that the
// stepwise run showed, and not before its workload began.
func (s Space) RandomClock(seed uint64, i int) scenario.Scenario {
	out := s.plain.scenario
	if len(s.plain.links) == 0 || len(s.kinds) == 0 {
		return out
	}
	r := source(seed, i)
	f := faults.Fault{Do: pick(r, s.kinds)}
	if f.Do == faults.Kill {
		f.On.Instance = pick(r, s.plain.instances)
	} else {
		f.On = pick(r, s.plain.links)
	}
	f.Clock = (s.plain.first + time.Duration(r.Int64N(int64(s.plain.last-s.plain.first)+1))).Round(time.Microsecond)
	out.Faults = []faults.Fault{f}
	return out
}

// source is the randomness of the i-th draw of a seed.
func source(seed uint64, i int) *rand.Rand {
	return rand.New(rand.NewPCG(scatter(seed), scatter(uint64(i))))
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
