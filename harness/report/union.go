package report

import (
	"cmp"
	"slices"
)

// union is the matrix of several shards while it is put together.
type union struct {
	rows  []*Row
	row   map[rowName]*Row
	cells map[cellName]int // the place in its row
	told  map[cellName]int // by how many shards
}

type rowName struct{ run, after, exchange string }

type cellName struct {
	rowName
	moment, fault string
}

func newUnion() *union {
	return &union{row: map[rowName]*Row{}, cells: map[cellName]int{}, told: map[cellName]int{}}
}

// add joins the matrix of one more shard. Of a cell that two shards tell of
// counts what says more.
func (u *union) add(matrix []Row) {
	for _, from := range matrix {
		name := rowName{from.Run, from.After, from.Exchange}
		row := u.row[name]
		if row == nil {
			row = &Row{Run: from.Run, After: from.After, Exchange: from.Exchange}
			u.row[name] = row
			u.rows = append(u.rows, row)
		}
		for _, c := range from.Cells {
			key := cellName{name, c.Moment, c.Fault}
			u.told[key]++
			at, known := u.cells[key]
			switch {
			case !known:
				u.cells[key] = len(row.Cells)
				row.Cells = append(row.Cells, c)
			case c.weight() > row.Cells[at].weight():
				row.Cells[at] = c
			}
		}
	}
}

// weight orders what two shards say of a cell. That it is another shard's says
// nothing; that it was planned and not tried says more than that a rule of
// another recorded run left it out.
func (c Cell) weight() int {
	switch {
	case c.Status == Violated:
		return 5
	case c.Status == Exercised:
		return 4
	case c.Status == NotReached:
		return 3
	case c.Status == NotTried && c.Reason != ReasonShard:
		return 2
	case c.Status == NotApplicable:
		return 1
	}
	return 0
}

// leaveToTheSchedule takes out what no shard has tried because the one that it
// belongs to has not recorded it: a fault-free run that lacks the exchange. So
// many shards make the whole run, each there once.
func (u *union) leaveToTheSchedule(shards int) {
	for key, at := range u.cells {
		c := &u.row[key.rowName].Cells[at]
		if c.Status == NotTried && c.Reason == ReasonShard && u.told[key] < shards {
			c.Status, c.Reason = NotApplicable, ReasonSchedule
		}
	}
}

// matrix is the union, run after run and the recoveries behind them.
func (u *union) matrix() []Row {
	groups := map[string]int{}
	rows := make([]Row, 0, len(u.rows))
	for _, row := range u.rows {
		slices.SortStableFunc(row.Cells, func(a, b Cell) int {
			return cmp.Or(cmp.Compare(momentPlace(a.Moment), momentPlace(b.Moment)), cmp.Compare(a.Fault, b.Fault))
		})
		if _, known := groups[row.where()]; !known {
			groups[row.where()] = len(groups)
		}
		rows = append(rows, *row)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(min(len(a.After), 1), min(len(b.After), 1)), cmp.Compare(groups[a.where()], groups[b.where()]))
	})
	return rows
}
