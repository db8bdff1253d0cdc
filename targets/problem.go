package targets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a manifest, with its place and its mend.
type Problem struct {
	// Source is the manifest's path, or the target's name where the target was
	// made in Go.
	Source string
	// Line and Column count from 1; both are 0 for a target made in Go.
	Line, Column int
	// Key is the path of the key: app.start.
	Key string
	// Text says what is wrong and what to write instead.
	Text string
}

// String is source:line:column: key: text.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Key != "" {
		b.WriteString(": " + p.Key)
	}
	b.WriteString(": " + p.Text)
	return b.String()
}

// Problems are all mistakes that were found in one manifest, in its order.
type Problems []Problem

// Error has one line a mistake.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// position is a place in a manifest's text.
type position struct{ line, column int }

// findings collects problems and knows where each key is written.
type findings struct {
	source   string
	at       map[string]position
	problems Problems
}

// add notes a problem at a key; where the key is not written, at the nearest
// key above it that is.
func (f *findings) add(key, format string, args ...any) {
	where := f.at[key]
	for above := key; where == (position{}) && above != ""; {
		above = parent(above)
		where = f.at[above]
	}
	f.addAt(where, key, format, args...)
}

func (f *findings) addAt(where position, key, format string, args ...any) {
	f.problems = append(f.problems, Problem{
		Source: f.source, Line: where.line, Column: where.column, Key: key, Text: fmt.Sprintf(format, args...),
	})
}

// spoiled tells whether a problem was already found at a key or below it:
// what else could be said there would only follow from it.
func (f *findings) spoiled(key string) bool {
	return slices.ContainsFunc(f.problems, func(p Problem) bool {
		return p.Key == key || strings.HasPrefix(p.Key, key+".") || strings.HasPrefix(p.Key, key+"[")
	})
}

// elementKey is the key of a list's element. The only one may be written without
// the list.
func (f *findings) elementKey(list string, i int) string {
	element := fmt.Sprintf("%s[%d]", list, i)
	if f.written(list) && !f.written(element) {
		return list
	}
	return element
}

// itemKey is the key of an item of the list in a struct that may be written as
// that list alone.
func (f *findings) itemKey(key, list string, i int) string {
	if f.written(key + "." + list) {
		return fmt.Sprintf("%s.%s[%d]", key, list, i)
	}
	return fmt.Sprintf("%s[%d]", key, i)
}

func (f *findings) written(key string) bool { return f.at[key] != position{} }

// err is nil when nothing was found.
func (f *findings) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(f.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return f.problems
}

// parent is the key that holds a key: app.start of app.start[1], app of
// app.start, and "" of app.
func parent(key string) string {
	return key[:max(strings.LastIndexAny(key, ".["), 0)]
}

// known lists what could have been written.
func known(names []string) string { return strings.Join(names, ", ") }

// meant suggests the name that a misspelt one is close to, or lists them all.
func meant(wrong string, names []string) string {
	best, distance := "", 3
	for _, name := range names {
		if d := editDistance(strings.ToLower(wrong), strings.ToLower(name)); d < distance && d < len(name) {
			best, distance = name, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known: " + known(names)
}

// editDistance counts the letters to insert, delete or replace. It gives up,
// with a large number, on words too long to be a slip.
func editDistance(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
