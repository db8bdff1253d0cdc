package pgwire

// maxDepth bounds how deep parentheses are followed.
const maxDepth = 64

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
			t = quiet | reads
		case unknownFunction:
			t = changes | reads
		}
	case q.table == "":
		t = quiet | reads
	default:
		t = reads
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
