package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Status is what became of a cell.
type Status string

// The statuses.
const (
	// Exercised: the fault struck, and no claimed property is violated.
	Exercised Status = "exercised"
	// Violated: the fault struck, and a claimed property is violated.
	Violated Status = "violated"
	// NotReached: the fault was planned and never struck.
	NotReached Status = "unreached"
	// NotApplicable: the cell can show nothing new.
	NotApplicable Status = "not_applicable"
	// NotTried: the run ended before the cell's turn, or the turn is another
	// shard's.
	NotTried Status = "not_tried"
)

// The reasons for not trying a cell.
const (
	ReasonBudget      = "the budget was spent"
	ReasonStopped     = "the run ended at its first violation"
	ReasonShard       = "it belongs to another shard"
	ReasonInterrupted = "the run was interrupted"
)

// ReasonSchedule is why a cell is not applicable that one fault-free run shows
// and another does not.
const ReasonSchedule = "an exchange that some fault-free runs have and others have not: the schedule's choice"

// Row is an exchange of a recorded run and what became of its cells. With After
// it is a row of a recovery: its faults strike second, in a trial whose first
// fault is After.
type Row struct {
	Run   string `json:"run"`
	After string `json:"after,omitempty"`
	// Exchange is a point without its moment: relay.0/broker "publish" #1.
	Exchange string `json:"exchange"`
	Cells    []Cell `json:"cells"`
}

// Cell is one moment of an exchange, one fault at it, and what became of it.
type Cell struct {
	Moment string `json:"moment"`
	// Fault is the kind of fault, and its variant after a comma: "kill, restart
	// while backends linger".
	Fault  string `json:"fault"`
	Status Status `json:"status"`
	// Reason says why the cell was not exercised, or why its trial, though
	// exercised, came to no verdict.
	Reason string `json:"reason,omitempty"`
}

// Text names a cell as the fault of a scenario does.
func (r Row) Text(c Cell) string {
	kind, variant, ok := strings.Cut(c.Fault, ", ")
	text := kind + " at " + r.Exchange + " " + c.Moment
	if ok {
		text += ", " + variant
	}
	return text
}

// where names the row's run, and what came before in the trial.
func (r Row) where() string {
	if r.After != "" {
		return r.Run + " run, after " + r.After
	}
	return r.Run + " run"
}

// Points counts cells. A violated cell is exercised; what is missing from the
// sum was not tried.
type Points struct {
	Total         int `json:"total"`
	Exercised     int `json:"exercised"`
	Unreached     int `json:"unreached"`
	NotApplicable int `json:"not_applicable"`
}

func (p *Points) count(s Status) {
	p.Total++
	switch s {
	case Exercised, Violated:
		p.Exercised++
	case NotReached:
		p.Unreached++
	case NotApplicable:
		p.NotApplicable++
	}
}

// LeftOut counts the cells that have one reason in common. Of these, Recovery
// are of second faults: they are not among [Result.Points].
type LeftOut struct {
	Reason   string `json:"reason"`
	Cells    int    `json:"cells"`
	Recovery int    `json:"recovery,omitempty"`
}

func (l LeftOut) String() string {
	text := counted(l.Cells, "cell")
	switch {
	case l.Recovery == l.Cells:
		return text + " of second faults"
	case l.Recovery > 0:
		return fmt.Sprintf("%s, %d of them of second faults", text, l.Recovery)
	}
	return text
}

// Unreached is a cell whose fault never fired, and why not.
type Unreached struct {
	Run   string `json:"run"`
	Fault string `json:"fault"`
	Why   string `json:"why"`
}

// Count fills in what follows from the matrix: Points, Recovery, LeftOut,
// NotTried and Unreached.
func (r *Result) Count() {
	r.Points, r.Recovery, r.Unreached = Points{}, nil, nil
	leftOut, notTried := map[string]LeftOut{}, map[string]LeftOut{}
	for _, row := range r.Matrix {
		points, second := &r.Points, 0
		if row.After != "" {
			if r.Recovery == nil {
				r.Recovery = &Points{}
			}
			points, second = r.Recovery, 1
		}
		for _, c := range row.Cells {
			points.count(c.Status)
			switch c.Status {
			case NotReached:
				run := strings.Replace(row.where(), " run", "", 1)
				r.Unreached = append(r.Unreached, Unreached{Run: run, Fault: row.Text(c), Why: c.Reason})
			case NotApplicable:
				leftOut[c.Reason] = LeftOut{c.Reason, leftOut[c.Reason].Cells + 1, leftOut[c.Reason].Recovery + second}
			case NotTried:
				notTried[c.Reason] = LeftOut{c.Reason, notTried[c.Reason].Cells + 1, notTried[c.Reason].Recovery + second}
			}
		}
	}
	r.LeftOut, r.NotTried = byReason(leftOut), byReason(notTried)
}

// byReason lists counts, the largest first.
func byReason(counts map[string]LeftOut) []LeftOut {
	return slices.SortedFunc(maps.Values(counts), func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(b.Cells, a.Cells), cmp.Compare(a.Reason, b.Reason))
	})
}

// Complete reports whether nothing that was planned is missing: every cell's
// fault struck, or the cell was left out, or it was not this run's.
func (r Result) Complete() bool {
	return len(r.Unreached) == 0 && !slices.ContainsFunc(r.NotTried, func(n LeftOut) bool { return r.misses(n.Reason) })
}

// misses reports whether cells that were not tried for this reason are missing:
// a shard leaves the others their part, and a run that ended at a violation has
// its verdict.
func (r Result) misses(reason string) bool {
	return reason != ReasonStopped && (reason != ReasonShard || r.Shard == nil)
}

// with finds the count of a reason.
func with(list []LeftOut, reason string) LeftOut {
	for _, l := range list {
		if l.Reason == reason {
			return l
		}
	}
	return LeftOut{Reason: reason}
}
