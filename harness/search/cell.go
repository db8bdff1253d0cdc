package search

import (
	"slices"
	"sort"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
)

// Cell is a point and a fault of one recorded run: the unit of coverage.
type Cell struct {
	Run      string
	Fault    faults.Fault
	Scenario scenario.Scenario
	// Rank orders the cells: likeliest to show a bug first, by rules that know
	// no target.
	Rank int
	// Segment is how a chain visits the cell; nil when only a trial of its own
	// does.
	Segment *scenario.Segment
}

func (c Cell) String() string { return c.Run + ": " + c.Fault.String() }

// Omitted is a cell that a rule leaves out.
type Omitted struct {
	Run    string       `json:"run"`
	Fault  faults.Fault `json:"fault"`
	Reason string       `json:"reason"`
}

// LeftOut counts the cells that were left out for one reason.
type LeftOut struct {
	Reason string `json:"reason"`
	Cells  int    `json:"cells"`
}

// Count counts left-out cells by reason, in the order of the docs.
func Count(list []Omitted) []LeftOut {
	n := map[string]int{}
	for _, o := range list {
		n[o.Reason]++
	}
	var left []LeftOut
	for _, reason := range Reasons() {
		if n[reason] > 0 {
			left = append(left, LeftOut{reason, n[reason]})
		}
	}
	return left
}

// The reasons for leaving a cell out. Each is written down in docs/coverage.md
// with the test whose bug would hide there.
const (
	ReasonIdle   = "an idle poll after the first: the same state again"
	ReasonSetup  = "asking for deliveries or setting the session up, after the first: changes nothing on a server"
	ReasonNext   = "a connection broken after a reply, inside a transaction: the client learns of it at its next request, which is visited"
	ReasonBeside = "lost on a second connection to the same server: which comes first is the schedule's choice"
	// The next three are visited in the stepwise run.
	ReasonStart         = "setting a session up: the same as in the stepwise run"
	ReasonRelays        = "an exchange of the app or the consumer, with more relays: the same as with one"
	ReasonBeforeOverlap = "before transactions overlap: the same as when orders follow each other"
	ReasonSchedule      = "an exchange that some fault-free runs have and others have not: the schedule's choice"
	ReasonRecovery      = "a second fault during a recovery that took another course, three times"
	ReasonConvicted     = "the same point and fault, with another order, is convicted already"
	ReasonEquivalent    = "equivalent for a kill: the servers have seen the same messages as at a cell that is visited"
)

// Reasons lists the reasons, in the order of the docs.
func Reasons() []string {
	return []string{ReasonIdle, ReasonSetup, ReasonEquivalent, ReasonNext, ReasonBeside, ReasonStart, ReasonRelays, ReasonBeforeOverlap, ReasonSchedule, ReasonRecovery, ReasonConvicted}
}

// Options say which cells are wanted.
type Options struct {
	// Faults are the kinds of fault; nil means those of [DefaultFaults].
	Faults []faults.Kind
	// Points keeps the cells whose point contains the text.
	Points string
	// Everything visits also what the rules leave out; for the tests of the rules.
	Everything bool
}

// DefaultFaults are the kinds of fault that a sweep visits when none are named.
// A hold is what lets a late commit land between two statements of a relay.
func DefaultFaults() []faults.Kind { return []faults.Kind{faults.Kill, faults.Cut, faults.Hold} }

func (o Options) wants(k faults.Kind) bool {
	kinds := o.Faults
	if kinds == nil {
		kinds = DefaultFaults()
	}
	return slices.Contains(kinds, k)
}

// names reports whether the fault's point is one of those asked for.
func (o Options) names(f faults.Fault) bool {
	return o.Points == "" || strings.Contains(f.At.String(), o.Points)
}

// Likeliest sorts the cells of several runs, likeliest first.
func Likeliest(cells []Cell) {
	sort.SliceStable(cells, func(i, j int) bool { return cells[i].Rank < cells[j].Rank })
}
