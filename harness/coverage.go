package harness

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/targets"
)

// coverage is the crash matrix of a run while it grows: a small record for each
// cell, and none for a trial.
type coverage struct {
	rows  []*row
	row   map[place]*row
	cells map[string]*report.Cell // by the text of search.Cell
	// firsts are the planned cells that strike once.
	firsts []struct {
		fault faults.Fault
		cell  *report.Cell
	}
}

// place names a row: the exchange of a run, and for a recovery the fault before.
type place struct{ run, after, exchange string }

type row struct {
	place
	cells []*report.Cell
}

func newCoverage() *coverage {
	return &coverage{row: map[place]*row{}, cells: map[string]*report.Cell{}}
}

// record lists a recorded run's exchanges in the order in which they passed.
// The cells that come later find their rows there.
func (c *coverage) record(rec search.Recording) {
	for _, e := range rec.History {
		if e.Wire == nil {
			continue
		}
		link, err := faults.ParseLink(e.Wire.Link)
		if err != nil {
			continue
		}
		// A point may name the instance, or whichever replica gets there first.
		for _, index := range []int{link.Index, faults.Any} {
			link.Index = index
			c.at(place{run: rec.Run.Name, exchange: exchangeText(faults.Point{Link: link, Label: e.Wire.Label, N: e.Wire.N})})
		}
	}
}

func (c *coverage) at(p place) *row {
	if c.row[p] == nil {
		c.row[p] = &row{place: p}
		c.rows = append(c.rows, c.row[p])
	}
	return c.row[p]
}

// plan adds a cell. Until its turn comes it is not tried.
func (c *coverage) plan(cell search.Cell) {
	p := place{run: cell.Run}
	if n := len(cell.Scenario.Faults); n > 1 {
		p.after = cell.Scenario.Faults[n-2].String()
		p.run = strings.TrimSuffix(p.run, ", after "+p.after)
	}
	c.add(cell.String(), p, cell.Fault, report.NotTried, "")
	if p.after == "" {
		c.firsts = append(c.firsts, struct {
			fault faults.Fault
			cell  *report.Cell
		}{cell.Fault, c.cells[cell.String()]})
	}
}

// visited are the faults of the cells that strike once, whichever shard visits
// them, but for those that had no turn or were not reached: which these are is
// another matter in every run.
func (c *coverage) visited() (list []faults.Fault) {
	for _, first := range c.firsts {
		s := first.cell.Status
		if s != report.NotReached && (s != report.NotTried || first.cell.Reason == report.ReasonShard) {
			list = append(list, first.fault)
		}
	}
	return list
}

// leave adds a cell that a rule leaves out.
func (c *coverage) leave(run string, f faults.Fault, reason string) {
	c.add(search.Cell{Run: run, Fault: f}.String(), place{run: run}, f, report.NotApplicable, reason)
}

func (c *coverage) add(key string, p place, f faults.Fault, s report.Status, reason string) {
	if c.cells[key] != nil {
		return
	}
	p.exchange = exchangeText(*f.At)
	cell := &report.Cell{
		Moment: string(f.At.Moment), Fault: strings.Replace(f.String(), " at "+f.At.String(), "", 1),
		Status: s, Reason: reason,
	}
	c.cells[key] = cell
	r := c.at(p)
	r.cells = append(r.cells, cell)
}

// set says what became of a planned cell.
func (c *coverage) set(cell search.Cell, s report.Status, reason string) {
	const most = 500
	if len(reason) > most {
		reason = strings.ToValidUTF8(reason[:most], "") + "..."
	}
	known := c.cells[cell.String()]
	known.Status, known.Reason = s, reason
}

// matrix is the coverage as a result tells it. The cells whose turn never came
// get the reason why the run ended.
func (c *coverage) matrix(ended string) []report.Row {
	moments := []string{string(faults.Before), string(faults.Unanswered), string(faults.After)}
	var rows []report.Row
	for _, r := range c.rows {
		if len(r.cells) == 0 {
			continue
		}
		out := report.Row{Run: r.run, After: r.after, Exchange: r.exchange}
		for _, cell := range r.cells {
			told := *cell
			if told.Status == report.NotTried && told.Reason == "" {
				told.Reason = ended
			}
			out.Cells = append(out.Cells, told)
		}
		slices.SortStableFunc(out.Cells, func(a, b report.Cell) int {
			return cmp.Or(cmp.Compare(slices.Index(moments, a.Moment), slices.Index(moments, b.Moment)), cmp.Compare(a.Fault, b.Fault))
		})
		rows = append(rows, out)
	}
	return rows
}

func exchangeText(p faults.Point) string { return fmt.Sprintf("%s %q #%d", p.Link, p.Label, p.N) }

// planDigest stands for what is swept: the target as its manifest and schema
// describe it, and the options that decide which cells there are. Shards with
// different ones are not of the same run.
func planDigest(t targets.Target, o Options) (string, error) {
	kinds := o.Faults
	if kinds == nil {
		kinds = search.DefaultFaults()
	}
	text, err := json.Marshal(struct {
		Manifest targets.Manifest
		Schema   []string
		Orders   int
		Faults   []faults.Kind
		Points   string
		Depth    int
	}{t.Manifest, t.SchemaSQL, o.Orders, slices.Sorted(slices.Values(kinds)), o.Points, o.Depth})
	if err != nil {
		return "", fmt.Errorf("write down what is swept: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
