package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// The characters of the matrix. A cell that is not applicable has the digit of
// its reason.
const (
	charExercised = "+"
	charViolated  = "!"
	charNoVerdict = "?"
	charUnreached = "-"
	charNotTried  = "."
)

// WriteCoverage writes the crash matrix of a result for people: a row for each
// exchange in the order in which the recorded run had them, a column for each
// fault, in it a character for each moment; below it the cells that need words.
// An error is that of w.
func WriteCoverage(w io.Writer, r Result) error {
	var b bytes.Buffer
	t := newTable(r)
	put(&b, Fold("", fmt.Sprintf("%s: what became of every cell: %s", r.Target, cells(r))))
	if r.Recovery != nil {
		put(&b, Fold("", recovered(*r.Recovery)))
	}
	if len(r.Matrix) == 0 {
		b.WriteString("No cell is known: the fault-free runs were not swept.\n")
	} else {
		b.WriteString("\n")
		put(&b, t.legend())
		put(&b, t.lines())
	}
	t.words(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// table lays the matrix out.
type table struct {
	result  Result
	columns []*column
	reasons []string // of the cells that are not applicable, by digit
}

// column is a kind of fault, or the variants of one.
type column struct {
	name    string
	variant bool
	width   int
}

func newTable(r Result) *table {
	t := &table{result: r}
	for _, l := range r.LeftOut {
		t.reasons = append(t.reasons, l.Reason)
	}
	for _, row := range r.Matrix {
		wide := map[*column]int{}
		for _, c := range row.Cells {
			col := t.column(c)
			wide[col]++
			if col.variant {
				col.width = max(col.width, wide[col])
			}
		}
	}
	slices.SortFunc(t.columns, func(a, b *column) int { return strings.Compare(columnOrder(a.name), columnOrder(b.name)) })
	return t
}

// columnOrder has kill first, each fault's variants behind it.
func columnOrder(name string) string { return strings.Replace(name, "kill", "", 1) }

// column is where a cell belongs: "kill", or "kill dropping".
func (t *table) column(c Cell) *column {
	text, _, _ := strings.Cut(c.Fault, " until ")
	kind, variant, varies := strings.Cut(text, ", ")
	if varies {
		word, _, _ := strings.Cut(variant, " ")
		kind += " " + word
	}
	for _, col := range t.columns {
		if col.name == kind {
			return col
		}
	}
	col := &column{name: kind, variant: varies, width: max(utf8.RuneCountInString(kind), moments)}
	t.columns = append(t.columns, col)
	return col
}

// moments is the number of characters of a fault.
const moments = 3

// momentPlace is the place of a moment's character; -1 for what is no moment.
func momentPlace(m string) int { return slices.Index([]string{"before", "unanswered", "after"}, m) }

func (t *table) char(c Cell) string {
	switch c.Status {
	case Exercised:
		if c.Reason != "" {
			return charNoVerdict
		}
		return charExercised
	case Violated:
		return charViolated
	case NotReached:
		return charUnreached
	case NotApplicable:
		return string(digits[min(slices.Index(t.reasons, c.Reason), len(digits)-1)])
	}
	return charNotTried
}

const digits = "123456789"

func (t *table) legend() []string {
	lines := []string{
		"  " + charExercised + " exercised   " + charViolated + " violated   " + charNoVerdict + " exercised, but without a verdict   " +
			charUnreached + " unreached   " + charNotTried + " not tried",
	}
	for i, l := range t.result.LeftOut {
		lines = append(lines, Fold("  ", fmt.Sprintf("%c not applicable (%s): %s", digits[min(i, len(digits)-1)], l, l.Reason))...)
	}
	for _, l := range t.result.NotTried {
		lines = append(lines, Fold("  ", fmt.Sprintf("%s not tried (%s): %s", charNotTried, l, l.Reason))...)
	}
	lines = append(lines, "  Three characters are the moments before, unanswered and after; a blank: there is no such cell.")
	if slices.ContainsFunc(t.columns, func(c *column) bool { return c.variant }) {
		lines = append(lines, "  A column of variants has a character for each of them.")
	}
	return lines
}

// printed is a line of the table, which several rows can share.
type printed struct {
	name, chars string
	first, last string // occurrences
}

func (t *table) lines() []string {
	var lines []string
	rows := t.result.Matrix
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].where() == rows[0].where() {
			n++
		}
		lines = append(lines, t.group(rows[:n])...)
		rows = rows[n:]
	}
	return lines
}

// group prints the rows of one run. Where all that differs is the occurrence of
// an exchange that is not applicable, one line stands for all.
func (t *table) group(rows []Row) []string {
	var list []*printed
	idle := map[string]*printed{}
	width := 0
	for _, row := range rows {
		name, n, _ := cutLast(row.Exchange, " #")
		p := &printed{name: name, chars: t.chars(row), first: n, last: n}
		if !slices.ContainsFunc(row.Cells, func(c Cell) bool { return c.Status != NotApplicable }) {
			key := name + "\x00" + p.chars
			if known := idle[key]; known != nil {
				known.last = n
				continue
			}
			idle[key] = p
		}
		list = append(list, p)
	}
	for _, p := range list {
		width = max(width, utf8.RuneCountInString(printable(p.text())))
	}
	head := fmt.Sprintf("  %*s", -width, "")
	for _, c := range t.columns {
		head += "  " + fmt.Sprintf("%*s", -c.width, c.name)
	}
	lines := append([]string{""}, Fold("", rows[0].where())...)
	lines = append(lines, strings.TrimRight(head, " "))
	for _, p := range list {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %*s%s", -width, printable(p.text()), p.chars), " "))
	}
	return lines
}

func (p *printed) text() string {
	if p.first == p.last {
		return p.name + " #" + p.first
	}
	return p.name + " #" + p.first + " to #" + p.last
}

// chars are the columns of a row.
func (t *table) chars(row Row) string {
	var b strings.Builder
	for _, col := range t.columns {
		text := []byte(strings.Repeat(" ", col.width))
		next := 0
		for _, c := range row.Cells {
			if t.column(c) != col {
				continue
			}
			at := momentPlace(c.Moment)
			if col.variant {
				at, next = next, next+1
			}
			text[at] = t.char(c)[0]
		}
		b.WriteString("  " + string(text))
	}
	return b.String()
}

// words tells of the cells for which a character says too little.
func (t *table) words(b *bytes.Buffer) {
	for _, about := range []struct {
		title string
		of    func(Cell) bool
	}{
		{"violated", func(c Cell) bool { return c.Status == Violated }},
		{"unreached, and why", func(c Cell) bool { return c.Status == NotReached }},
		{"exercised without a verdict, and why", func(c Cell) bool { return c.Status == Exercised && c.Reason != "" }},
	} {
		title := "\n" + about.title + ":\n"
		for _, row := range t.result.Matrix {
			for _, c := range row.Cells {
				if about.of(c) {
					b.WriteString(title)
					title = ""
					put(b, Fold("  ", because(fmt.Sprintf("%s (%s)", row.Text(c), row.where()), c.Reason)))
				}
			}
		}
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
