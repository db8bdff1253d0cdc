package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/outboxtest/outboxtest/properties"
)

// Merge joins the results of the shards of one run into one: the union of their
// matrices, their violations, and their counts. From says where each came from,
// for the reasons. What is no part of the same run is refused; a shard that is
// missing or there twice, and shards that do not fit together, make the result
// unknown, and it says why.
func Merge(parts []Result, from []string) (Result, error) {
	if len(parts) == 0 {
		return Result{}, fmt.Errorf("there is no result to join")
	}
	first := parts[0]
	out := Result{Version: Version, Target: first.Target, Verdict: properties.Pass, Seed: first.Seed, PlanDigest: first.PlanDigest, Shards: len(parts)}
	for i, p := range parts {
		switch {
		case p.Target != first.Target:
			return Result{}, fmt.Errorf("%s is of the target %s and %s of %s: join the shards of one target at a time", from[0], first.Target, from[i], p.Target)
		case p.of() != first.of():
			return Result{}, fmt.Errorf("%s is one of %d shards and %s one of %d: join the shards of one run at a time", from[0], first.of(), from[i], p.of())
		}
	}
	u := newUnion()
	for _, p := range parts {
		out.Verdict = out.Verdict.Worse(p.Verdict)
		out.Trials += p.Trials
		out.Seconds = max(out.Seconds, p.Seconds)
		out.Blame = cmp.Or(out.Blame, p.Blame)
		if p.Seed != out.Seed {
			out.Seed = 0
		}
		if p.PlanDigest != out.PlanDigest {
			out.PlanDigest = ""
		}
		if x := p.Explored; x != nil {
			if out.Explored == nil {
				out.Explored = &Explored{}
			}
			out.Explored.Trials += x.Trials
			out.Explored.Faults += x.Faults
			out.Explored.Struck += x.Struck
			out.Explored.Partly += x.Partly
		}
		out.Properties = joinProperties(out.Properties, p.Properties)
		u.add(p.Matrix)
	}
	for _, p := range out.Properties {
		slices.SortStableFunc(p.Violations, func(a, b Violation) int { return a.Reproduced.Compare(b.Reproduced) })
	}
	if out.Seconds > 0 {
		out.TrialsPerSecond = float64(out.Trials) / out.Seconds
	}
	out.Environment = joinEnvironments(parts)
	why := misfits(parts, from)
	if len(why) == 0 {
		u.leaveToTheSchedule(len(parts))
	}
	out.Matrix = u.matrix()
	out.Count()
	for _, p := range parts {
		for _, why := range p.Why {
			out.Why = append(out.Why, fmt.Sprintf("shard %s: %s", p.name(), why))
		}
	}
	out.Why = append(out.Why, why...)
	if len(out.Why) > 0 || !out.Complete() {
		out.Verdict = out.Verdict.Worse(properties.UnknownResult)
	}
	return out, nil
}

// of is how many shards there are: one when the run was not split.
func (r Result) of() int {
	if r.Shard == nil {
		return 1
	}
	return r.Shard.Of
}

func (r Result) index() int {
	if r.Shard == nil {
		return 1
	}
	return r.Shard.Index
}

func (r Result) name() string { return Shard{r.index(), r.of()}.String() }

// misfits are the reasons why results are not the shards of one run, each once.
func misfits(parts []Result, from []string) []string {
	var why []string
	at := map[int]string{}
	for i, p := range parts {
		if other, twice := at[p.index()]; twice {
			why = append(why, fmt.Sprintf("shard %s is there twice: %s and %s", p.name(), other, from[i]))
		}
		at[p.index()] = from[i]
	}
	var missing []int
	for i := 1; i <= parts[0].of(); i++ {
		if at[i] == "" {
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		why = append(why, "missing: "+shardsOf(missing, parts[0].of()))
	}
	for i, p := range parts[1:] {
		if p.Environment.Harness != parts[0].Environment.Harness {
			why = append(why, fmt.Sprintf("%s was written by outboxtest %s and %s by outboxtest %s", from[0], parts[0].Environment.Harness, from[i+1], p.Environment.Harness))
			break
		}
	}
	for i, p := range parts[1:] {
		if p.PlanDigest != parts[0].PlanDigest && p.PlanDigest != "" && parts[0].PlanDigest != "" {
			why = append(why, fmt.Sprintf("%s and %s are not of one run: the target, or the flags that decide which cells there are, were not the same, so a cell may be in no shard; run the shards again, with the same flags", from[0], from[i+1]))
			break
		}
	}
	return why
}

// mostRanges bounds the ranges of missing shards that are told.
const mostRanges = 10

// shardsOf names shards, ascending: shard 2/5, or shards 3-7, 12 of 20.
func shardsOf(list []int, of int) string {
	if len(list) == 1 {
		return "shard " + Shard{list[0], of}.String()
	}
	var ranges []string
	told := 0
	for told < len(list) && len(ranges) < mostRanges {
		n := 1
		for told+n < len(list) && list[told+n] == list[told]+n {
			n++
		}
		text := strconv.Itoa(list[told])
		if n > 1 {
			text += "-" + strconv.Itoa(list[told+n-1])
		}
		ranges = append(ranges, text)
		told += n
	}
	text := "shards " + strings.Join(ranges, ", ")
	if left := len(list) - told; left > 0 {
		text += fmt.Sprintf(" and %d more", left)
	}
	return fmt.Sprintf("%s of %d", text, of)
}

// joinEnvironments tells every version that there was, and counts the jobs.
func joinEnvironments(parts []Result) Environment {
	join := func(of func(Environment) string) string {
		var all []string
		for _, p := range parts {
			if text := of(p.Environment); text != "" && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		return strings.Join(all, ", ")
	}
	e := Environment{
		Harness:  join(func(e Environment) string { return e.Harness }),
		Postgres: join(func(e Environment) string { return e.Postgres }),
		Broker:   join(func(e Environment) string { return e.Broker }),
		OS:       join(func(e Environment) string { return e.OS }),
	}
	for _, p := range parts {
		e.CPUs, e.Jobs = max(e.CPUs, p.Environment.CPUs), e.Jobs+p.Environment.Jobs
	}
	return e
}

func joinProperties(into, from []Property) []Property {
	for _, p := range from {
		i := slices.IndexFunc(into, func(known Property) bool { return known.Name == p.Name })
		if i < 0 {
			i = len(into)
			into = append(into, Property{Name: p.Name, Verdict: properties.Pass, Violations: []Violation{}})
		}
		known := &into[i]
		known.Claimed = known.Claimed || p.Claimed
		known.Verdict = known.Verdict.Worse(p.Verdict)
		for _, why := range p.Why {
			if !slices.Contains(known.Why, why) {
				known.Why = append(known.Why, why)
			}
		}
		for _, v := range p.Violations {
			known.Violations = joinViolation(known.Violations, v)
		}
	}
	return into
}

// joinViolation adds a violation, or counts it to the one that another shard
// found at the same kind of point; the one that comes back more often is told.
func joinViolation(list []Violation, v Violation) []Violation {
	kind := kindOf(v)
	i := slices.IndexFunc(list, func(known Violation) bool { return kindOf(known) == kind })
	if i < 0 {
		return append(list, v)
	}
	v.Cells += list[i].Cells
	if v.Reproduced.Compare(list[i].Reproduced) < 0 {
		list[i] = v
	}
	list[i].Cells = v.Cells
	return list
}

// kindOf names a violation's fault without its occurrence: the same statement of
// another order shows the same bug.
func kindOf(v Violation) string {
	fault := regexp.MustCompile(`, dropping [^,]*`).ReplaceAllString(v.Fault, "")
	return regexp.MustCompile(` #\d+`).ReplaceAllString(fault, "")
}
