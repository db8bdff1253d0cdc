package pgwire

import "strings"

const (
	// maxDepth bounds how deep parentheses are followed.
	maxDepth = 64
	// maxWiths bounds how much of a WITH list is read.
	maxWiths = 64
)

// query is what SELECT, VALUES, TABLE, INSERT, UPDATE, DELETE or MERGE, with
// its WITH list and in its parentheses, is about.
type query struct {
	verb string
	// table is the first table of FROM, or "f()".
	table   string
	changes []string // the data-changing parts, in the order of the text
	// hidden: a part changes rows that the command tag does not tell of.
	hidden bool
	// into: SELECT INTO makes a table.
	into bool
	// function is the name of the function when table is one.
	function string
}

func (q query) label() string {
	switch {
	case len(q.changes) > 0:
		var l labels
		for _, c := range q.changes {
			l.add(c)
		}
		return l.join(", ")
	case q.table != "":
		return q.verb + " " + q.table
	}
	return q.verb
}

// query names the query that begins at i and tells what it is.
func (p *parser) query(i int) (string, trait) {
	q := p.read(i, len(p.tokens), nil)
	var t trait
	switch {
	case len(q.changes) > 0:
		t = changes
		if q.hidden {
			t |= uncounted
		}
	case q.into:
		t = changes | uncounted
	case q.function != "":
		switch natureOf(q.function) {
		case quietFunction:
			t = quiet
		case unknownFunction:
			t = changes
		}
	case q.table == "":
		t = quiet
	}
	if q.verb == "" {
		if q.verb = p.word(i); q.verb == "" { // WITH and no statement behind it
			q.verb = "statement"
		}
	}
	return q.label(), t
}

// read reads the query in tokens[i:end]. outer are the WITH names around it.
func (p *parser) read(i, end int, outer []with) (q query) {
	if p.depth++; p.depth > maxDepth {
		return query{verb: "select"}
	}
	defer func() { p.depth-- }()
	if p.is(i, opening) {
		return p.read(i+1, min(p.tokens[i].match, end), outer)
	}
	var list []with
	if p.word(i) == "with" {
		list, i = p.withs(i+1, end, outer)
	}
	known := append(list, outer...)
	main := i
	q.verb = name(p.word(i))
	switch q.verb {
	case "insert", "update", "delete", "merge":
		if change := p.change(i); change != "" {
			q.changes = append(q.changes, change)
		}
	case "table":
		q.verb = "select"
		q.table, _, _ = p.name(p.skip(i+1, "only"))
	case "select":
		p.selects(&q, i+1, end, known)
	case "":
		if p.is(i, opening) && i < end {
			q = p.read(i, end, known)
		}
	}
	var before []string
	for _, w := range list {
		before = append(before, w.query.changes...)
	}
	if len(before) > 0 {
		q.hidden = q.hidden || p.hides(list, main, end)
		q.changes = append(before, q.changes...)
	}
	return q
}

// change names the data-changing statement at i: "update outbox". It is empty
// when the words there are no such statement: insert, update and delete are
// fine names for columns.
func (p *parser) change(i int) string {
	verb := p.word(i)
	i++
	switch verb {
	case "insert", "merge":
		if p.word(i) != "into" {
			return ""
		}
		i++
	case "delete":
		if p.word(i) != "from" {
			return ""
		}
		i++
	}
	i = p.skip(i, "only")
	if p.is(i, opening) { // ONLY (t)
		i++
	}
	text, _, _ := p.name(i)
	if text == "" {
		return ""
	}
	return verb + " " + text
}

// selects reads a SELECT from behind its first word.
func (p *parser) selects(q *query, i, end int, known []with) {
	for j := i; j < end && j < len(p.tokens); j++ {
		if p.is(j, opening) {
			j = p.tokens[j].match
			continue
		}
		switch p.word(j) {
		case "into":
			q.into = true
		case "from":
			// x IS DISTINCT FROM y
			if p.word(j-1) == "distinct" && (p.word(j-2) == "is" || p.word(j-2) == "not") {
				continue
			}
			p.source(q, j+1, end, known)
			return
		}
	}
	if q.function = p.called(q, i, end, known); q.function != "" {
		q.table = q.function + "()"
	}
}

// source reads the first item of a FROM list.
func (p *parser) source(q *query, i, end int, known []with) {
	if p.depth++; p.depth > maxDepth {
		return
	}
	defer func() { p.depth-- }()
	i = p.skip(i, "only", "lateral")
	if p.word(i) == "rows" && p.word(i+1) == "from" && p.is(i+2, opening) {
		i += 3
	}
	if i >= end {
		return
	}
	if p.is(i, opening) {
		inner, last := i+1, min(p.tokens[i].match, end)
		switch p.word(inner) {
		case "select", "with", "values", "table":
			q.take(p.read(inner, last, known))
		default:
			p.source(q, inner, last, known)
		}
		return
	}
	text, next, bare := p.name(i)
	if text == "" {
		return
	}
	if p.is(next, opening) {
		q.function, q.table = text, text+"()"
		return
	}
	for _, w := range known {
		if bare && w.name == text {
			q.take(w.query)
			return
		}
	}
	q.table = text
}

// take makes what a sub-query reads its own.
func (q *query) take(from query) {
	q.table, q.function = from.table, from.function
}

// called finds the first function that an expression calls. Finding none it
// leaves the first table of a sub-query in q.
func (p *parser) called(q *query, i, end int, known []with) string {
	if p.depth++; p.depth > maxDepth {
		return ""
	}
	defer func() { p.depth-- }()
	for j := i; j < end && j < len(p.tokens); j++ {
		if !p.is(j, opening) {
			continue
		}
		inner, last := j+1, min(p.tokens[j].match, end)
		switch p.word(inner) {
		case "select", "with":
			if q.table == "" {
				q.take(p.read(inner, last, known))
			}
		default:
			if (p.is(j-1, quoted) || p.is(j-1, word) && !construct(p.word(j-1))) && !p.typed(j-1) {
				text, _, _ := p.name(j - 1)
				return text
			}
			if f := p.called(q, inner, last, known); f != "" {
				return f
			}
		}
		j = p.tokens[j].match
	}
	return q.function
}

// typed reports whether the name at i is that of a type: x::numeric(10, 2),
// cast(x as numeric(10, 2)).
func (p *parser) typed(i int) bool {
	if p.is(i-1, other) {
		t := p.tokens[i-1]
		return strings.HasSuffix(p.sql[t.start:t.end], "::")
	}
	return p.word(i-1) == "as"
}

// construct reports whether a word before a parenthesis is grammar and no
// function.
func construct(w string) bool {
	switch w {
	case "", "all", "and", "any", "array", "as", "between", "by", "case", "cast", "coalesce", "collate", "distinct",
		"else", "except", "exists", "extract", "filter", "greatest", "having", "ilike", "in", "intersect", "is", "isnull",
		"least", "like", "limit", "not", "notnull", "nullif", "offset", "on", "or", "over", "overlay", "position", "row",
		"select", "similar", "some", "substring", "then", "trim", "union", "values", "when", "where", "within":
		return true
	}
	return false
}

// with is one entry of a WITH list.
type with struct {
	name       string
	query      query
	start, end int // its body
}

// withs reads a WITH list from behind WITH, and returns where the main
// statement begins.
func (p *parser) withs(i, end int, outer []with) (list []with, main int) {
	i = p.skip(i, "recursive")
	for i < end && len(list) < maxWiths {
		text, next, _ := p.name(i)
		if p.is(next, opening) {
			next = p.tokens[next].match + 1
		}
		if text == "" || p.word(next) != "as" {
			break
		}
		next = p.skip(next+1, "not", "materialized")
		if !p.is(next, opening) {
			break
		}
		w := with{name: text, start: next + 1, end: min(p.tokens[next].match, end)}
		w.query = p.read(w.start, w.end, append(list[:len(list):len(list)], outer...))
		list = append(list, w)
		i = w.end + 1
		if !p.is(i, other) || p.sql[p.tokens[i].start] != ',' {
			break
		}
		i++
	}
	// Behind the list there may be a SEARCH or a CYCLE clause.
	for j := i; j < end; j++ {
		switch p.word(j) {
		case "select", "insert", "update", "delete", "merge", "values", "table":
			return list, j
		}
		if p.is(j, opening) {
			if p.is(j-1, closing) {
				return list, j
			}
			j = p.tokens[j].match
		}
	}
	return list, end
}

// hides reports whether a WITH list changes rows without any trace in the
// number of rows of the main statement. When the main statement reads, directly
// or by way of other entries, from each part that changes, no rows there are
// taken for no rows changed; ON CONFLICT can swallow rows and breaks that.
func (p *parser) hides(list []with, main, end int) bool {
	for j := main; j < end; j++ {
		if p.word(j) == "conflict" {
			return true
		}
	}
	joined := make([]bool, len(list))
	for again := true; again; {
		again = false
		for i, w := range list {
			if joined[i] {
				continue
			}
			found := p.mentions(main, end, w.name)
			for k, v := range list {
				found = found || joined[k] && (p.mentions(v.start, v.end, w.name) || p.mentions(w.start, w.end, v.name))
			}
			joined[i] = found
			again = again || found
		}
	}
	for i, w := range list {
		if len(w.query.changes) > 0 && !joined[i] {
			return true
		}
	}
	return false
}

// mentions reports whether a name stands anywhere in tokens[i:end].
func (p *parser) mentions(i, end int, text string) bool {
	for ; i < end && i < len(p.tokens); i++ {
		if t := p.tokens[i]; (t.kind == word || t.kind == quoted) && name(p.sql[t.start:t.end]) == text {
			return true
		}
	}
	return false
}

type nature uint8

const (
	unknownFunction nature = iota // may change data
	activeFunction                // changes no rows, but has an effect
	quietFunction                 // has none that outlives the session
)

// natureOf knows the server's own functions that outboxes and drivers call.
func natureOf(function string) nature {
	switch function {
	case "set_config", "current_setting", "version", "now", "clock_timestamp", "statement_timestamp",
		"transaction_timestamp", "current_database", "current_schema", "current_schemas", "to_regclass",
		"txid_current", "txid_current_snapshot", "unnest", "generate_series", "gen_random_uuid", "random",
		"count", "min", "max", "sum", "avg", "format", "concat", "upper", "lower", "length":
		return quietFunction
	case "nextval", "setval", "lastval", "currval", "pg_notify":
		return activeFunction
	case "pg_logical_emit_message":
		return unknownFunction
	}
	switch {
	case strings.HasPrefix(function, "pg_advisory_"), strings.HasPrefix(function, "pg_try_advisory_"),
		strings.HasPrefix(function, "pg_current_"), strings.HasPrefix(function, "pg_is_"),
		strings.HasPrefix(function, "pg_snapshot_"), function == "pg_backend_pid", function == "pg_sleep":
		return quietFunction
	case strings.HasPrefix(function, "pg_"):
		return activeFunction
	}
	return unknownFunction
}
