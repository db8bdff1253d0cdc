// Package report holds the result of a run, as machines read it (one JSON
// object, see docs/json.md) and as people do.
package report

import (
	"cmp"
	"fmt"

	"github.com/outboxtest/outboxtest/properties"
)

// Version is the version of the JSON object.
const Version = 1

// Result is everything that a run says of one target.
type Result struct {
	Version         int                `json:"version"`
	Target          string             `json:"target"`
	Verdict         properties.Verdict `json:"verdict"`
	Seed            uint64             `json:"seed"`
	Seconds         float64            `json:"seconds"`
	Trials          int                `json:"trials"`
	TrialsPerSecond float64            `json:"trials_per_second"`
	Points          Points             `json:"points"`
	// Recovery counts the cells of second faults, which are not among Points;
	// nil when there was none.
	Recovery   *Points    `json:"recovery,omitempty"`
	Properties []Property `json:"properties"`
	// Blame says whose fault a finding is when it is not the target's; empty
	// when there is nothing to say.
	Blame       string      `json:"blame"`
	Environment Environment `json:"environment"`
	// Why lists the reasons for an unknown verdict that belong to no property.
	Why []string `json:"why,omitempty"`
	// LeftOut counts, by reason, the cells that were not worth a trial, and
	// NotTried those that had no turn.
	LeftOut  []LeftOut `json:"left_out,omitempty"`
	NotTried []LeftOut `json:"not_tried,omitempty"`
	// Unreached lists the cells whose fault did not fire.
	Unreached []Unreached `json:"unreached,omitempty"`
	// Explored counts the random scenarios, when there were any.
	Explored *Explored `json:"explored,omitempty"`
	// Shard is the part of the cells that was this run's; nil when all were. Of a
	// merged result, Shards is how many were joined.
	Shard  *Shard `json:"shard,omitempty"`
	Shards int    `json:"shards,omitempty"`
	// PlanDigest stands for the list of the cells that all shards share among
	// themselves: the same list has the same digest.
	PlanDigest string `json:"plan_digest,omitempty"`
	// Matrix says of every cell what became of it.
	Matrix []Row `json:"matrix,omitempty"`

	// In the result of a demo only.
	Expected         properties.Verdict `json:"expected,omitempty"`
	ExpectedProperty string             `json:"expected_property,omitempty"`
	CaughtBy         []string           `json:"caught_by,omitempty"`
}

// Shard is a part of the cells: the Index-th, from 1, of Of parts.
type Shard struct {
	Index int `json:"index"`
	Of    int `json:"of"`
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Property is the verdict on one property over all trials.
type Property struct {
	Name       string             `json:"name"`
	Claimed    bool               `json:"claimed"`
	Verdict    properties.Verdict `json:"verdict"`
	Why        []string           `json:"why,omitempty"`
	Violations []Violation        `json:"violations"`
}

// Violation is one violation with its evidence and what replays it.
type Violation struct {
	Summary string `json:"summary"`
	Order   string `json:"order"`
	// Point is where the fault struck; "no fault" when it took none.
	Point string `json:"point"`
	Fault string `json:"fault"`
	// Scenario and History are paths relative to the working directory; empty where
	// the file could not be written.
	Scenario string `json:"scenario"`
	History  string `json:"history"`
	// Unkept says which of its files could not be written, and why; empty as a
	// rule. Command replays it where that is so of the scenario, and one line can.
	Unkept     string     `json:"unkept,omitempty"`
	Command    string     `json:"command,omitempty"`
	Reproduced Reproduced `json:"reproduced"`
	Evidence   []string   `json:"evidence,omitempty"`
	// Shrunk tells of the search for a smaller scenario; nil when there was none
	// or it left the scenario as it was and had come to its end.
	Shrunk *Shrunk `json:"shrunk,omitempty"`
	// Unshrunk says why no smaller scenario was looked for where one may fail as
	// well; empty as a rule.
	Unshrunk string `json:"unshrunk,omitempty"`
	// Holds tells of the search for the schedule, of a violation that did not come
	// back in every replay; nil when there was none.
	Holds *Holds `json:"holds,omitempty"`
	// Cells counts the cells that showed the same violation at the same kind of
	// point, this one included.
	Cells int `json:"cells"`
}

// Reproduced says how many replays of a violation's scenario failed again.
type Reproduced struct {
	Failed int `json:"failed"`
	Runs   int `json:"runs"`
}

// Compare is negative when the first comes back more surely: in more of its replays,
// and where that is the same, in more replays.
func (r Reproduced) Compare(other Reproduced) int {
	share := func(r Reproduced) float64 { return float64(r.Failed) / float64(max(1, r.Runs)) }
	return cmp.Or(cmp.Compare(share(other), share(r)), cmp.Compare(other.Failed, r.Failed))
}

// Shrunk tells how a smaller scenario was looked for. All else that a violation
// tells is of the one that is saved.
type Shrunk struct {
	// Calls counts the scenarios that were tried, each more than once if it failed.
	Calls int `json:"calls"`
	// Complete: nothing smaller that was known to try fails. It is false when the
	// search was cut short, or what it found does not fail every time.
	Complete bool `json:"complete"`
	// From is the size of the scenario in which the violation was found, To that
	// of the one that is saved.
	From Size `json:"from"`
	To   Size `json:"to"`
}

// Size counts what a scenario is made of; aborted orders count.
type Size struct {
	Orders int `json:"orders"`
	Faults int `json:"faults"`
}

func (s Size) String() string {
	return counted(s.Orders, "order") + " and " + counted(s.Faults, "fault")
}

// Holds tells how a schedule was looked for: of so many scenarios with holds,
// whether one fails every time.
type Holds struct {
	Tried int  `json:"tried"`
	Found bool `json:"found"`
}

// Environment is what the run ran on.
type Environment struct {
	Harness  string `json:"harness"`
	Postgres string `json:"postgres"`
	Broker   string `json:"broker"`
	OS       string `json:"os"`
	CPUs     int    `json:"cpus"`
	Jobs     int    `json:"jobs"`
}

// Demo is the result of the main job on the built-in targets.
type Demo struct {
	Version int                `json:"version"`
	Verdict properties.Verdict `json:"verdict"`
	Seconds float64            `json:"seconds"`
	Targets []Result           `json:"targets"`
}

// Explored counts random scenarios. Partly counts those of which a fault found
// nothing to strike: they are judged for violations and are no passes.
type Explored struct {
	Trials int `json:"trials"`
	Faults int `json:"faults"`
	Struck int `json:"struck"`
	Partly int `json:"partly"`
}
