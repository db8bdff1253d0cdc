package pgwire

import "strings"

// parser names the statement that a list of tokens makes.
type parser struct {
	sql    string
	lower  string // sql with its ASCII letters lowered, once for all words
	tokens []token
	depth  int
}

// word is the i-th token in lower case when it is a word, else empty. A long
// word is no keyword and is empty too.
func (p *parser) word(i int) string {
	if i < 0 || i >= len(p.tokens) || p.tokens[i].kind != word {
		return ""
	}
	t := p.tokens[i]
	if t.end-t.start > maxName {
		return ""
	}
	return strings.ToLower(p.lower[t.start:t.end])
}

func (p *parser) is(i int, k tokenKind) bool {
	return i >= 0 && i < len(p.tokens) && p.tokens[i].kind == k
}

// skip returns the first index from i on whose word is none of words.
func (p *parser) skip(i int, words ...string) int {
	for {
		w, found := p.word(i), false
		for _, s := range words {
			found = found || w == s
		}
		if !found || w == "" {
			return i
		}
		i++
	}
}

// name reads a name, qualified or not, that begins at i. It returns the last
// part and the index behind it; bare says that there was one part.
func (p *parser) name(i int) (text string, next int, bare bool) {
	bare = true
	for p.is(i, word) || p.is(i, quoted) {
		t := p.tokens[i]
		text = name(p.lower[t.start:t.end])
		if i++; !p.is(i, dot) {
			break
		}
		bare = false
		i++
	}
	return text, i, bare
}

// named joins a verb and the name at i; without a name the verb stands alone.
func (p *parser) named(verb string, i int) string {
	text, _, _ := p.name(i)
	if text == "" {
		return verb
	}
	return verb + " " + text
}

// statement names what begins at i. What it does to the names of prepared
// statements is noted in all.
func (p *parser) statement(i int, all *Statement) (string, trait) {
	switch w := p.word(i); w {
	case "":
		if p.is(i, opening) {
			return p.query(i)
		}
		if p.is(i, word) {
			text, _, _ := p.name(i)
			return text, 0
		}
		return "statement", 0
	case "select", "with", "values", "table", "insert", "update", "delete", "merge":
		return p.query(i)
	case "begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release":
		return p.transaction(i, w)
	case "set", "show", "reset", "declare", "close":
		return w, quiet
	case "lock":
		return p.named(w, p.skip(i+1, "table", "only")), quiet
	case "copy":
		return p.copy(i)
	case "truncate":
		return p.named(w, p.skip(i+1, "table", "only")), changes
	case "call":
		return p.named(w, i+1) + "()", changes
	case "do":
		return w, changes
	case "create", "alter", "drop":
		return p.definition(i, w)
	case "explain":
		return p.explain(i, all)
	case "prepare", "execute", "deallocate", "discard":
		return p.prepared(i, w, all)
	default:
		return name(w), 0
	}
}

// transaction names the statements that begin, end and divide transactions.
func (p *parser) transaction(i int, w string) (string, trait) {
	switch w {
	case "start":
		if p.word(i+1) != "transaction" {
			return w, 0
		}
		return "begin", begins | quiet
	case "begin":
		return "begin", begins | quiet
	case "savepoint", "release":
		return w, quiet
	}
	label := "commit"
	if w == "rollback" || w == "abort" {
		label = "rollback"
	}
	if p.word(i+1) == "prepared" {
		return label + " prepared", changes
	}
	j := p.skip(i+1, "work", "transaction")
	if label == "rollback" && p.word(j) == "to" {
		return "rollback to", rollbackTo | quiet
	}
	if p.word(j) == "and" && p.word(j+1) == "chain" {
		return label, ends | chain | quiet
	}
	return label, ends | quiet
}

// copy names COPY t FROM, COPY t TO and COPY (query) TO.
func (p *parser) copy(i int) (string, trait) {
	j := p.skip(i+1, "binary")
	if p.is(j, opening) {
		q := p.read(j+1, p.tokens[j].match, nil)
		if len(q.changes) > 0 {
			return q.label(), changes | uncounted
		}
		if q.table == "" {
			return "copy", 0
		}
		return "copy " + q.table, 0
	}
	label := p.named("copy", j)
	_, j, _ = p.name(j)
	if p.is(j, opening) {
		j = p.tokens[j].match + 1
	}
	if p.word(j) == "from" {
		return label, changes
	}
	return label, 0
}

// definition names CREATE, ALTER and DROP by what they define.
func (p *parser) definition(i int, verb string) (string, trait) {
	i = p.skip(i+1, "or", "replace", "global", "local", "temp", "temporary", "unlogged",
		"unique", "recursive", "trusted", "procedural", "constraint")
	object := name(p.word(i))
	i++
	switch object {
	case "":
		return verb, changes
	case "materialized", "foreign", "event":
		if w := p.word(i); w != "" {
			object += " " + name(w)
			i++
		}
	}
	switch object {
	case "table", "view", "materialized view", "foreign table", "sequence", "function", "procedure",
		"type", "domain", "schema", "extension", "trigger", "event trigger", "rule", "policy",
		"publication", "subscription", "database", "role", "user":
		i = p.skip(i, "if", "not", "exists", "only")
		return p.named(verb+" "+object, i), changes | uncounted
	}
	return verb + " " + object, changes
}

// explain names EXPLAIN and what it explains. With ANALYZE that is run.
func (p *parser) explain(i int, all *Statement) (string, trait) {
	analyze := false
	for i++; ; i++ {
		switch {
		case p.word(i) == "analyze" || p.word(i) == "analyse":
			analyze = true
			continue
		case p.word(i) == "verbose":
			continue
		case p.is(i, opening) && p.word(i+1) != "select" && p.word(i+1) != "with" && p.word(i+1) != "values":
			for j := i + 1; j < p.tokens[i].match; j++ {
				analyze = analyze || p.word(j) == "analyze" || p.word(j) == "analyse"
			}
			i = min(p.tokens[i].match, len(p.tokens)-1)
			continue
		}
		break
	}
	if p.depth++; i >= len(p.tokens) || p.depth > maxDepth || p.word(i) == "explain" {
		return "explain", quiet
	}
	label, t := p.statement(i, &Statement{})
	if !analyze {
		return "explain " + label, quiet
	}
	return "explain " + label, t & (changes | uncounted)
}

// prepared reads PREPARE, EXECUTE, DEALLOCATE and DISCARD.
func (p *parser) prepared(i int, w string, all *Statement) (string, trait) {
	i++
	switch w {
	case "discard":
		all.forgetsAll = all.forgetsAll || p.word(i) == "all"
		return w, quiet
	case "deallocate":
		i = p.skip(i, "prepare")
		if p.word(i) == "all" {
			all.forgetsAll = true
		} else if text := p.exact(i); text != "" {
			all.forgets = append(all.forgets, text)
		}
		return w, quiet
	case "execute":
		all.execute = p.exact(i)
		return w, uncounted
	}
	if p.word(i) == "transaction" {
		return "prepare transaction", ends | changes
	}
	text := p.exact(i)
	_, i, _ = p.name(i)
	if p.is(i, opening) {
		i = p.tokens[i].match + 1
	}
	if p.word(i) == "as" && text != "" && i+1 < len(p.tokens) && p.word(i+1) != "prepare" {
		label, t := p.statement(i+1, &Statement{})
		all.prepare = text
		all.prepared = &Statement{Label: cut(label, maxLabel), Changes: t&changes != 0, Quiet: t&quiet != 0, parts: []trait{t}}
	}
	return w, quiet
}

// exact is the name at i as the server keeps it, to be compared with the names
// of the protocol's own prepared statements.
func (p *parser) exact(i int) string {
	switch {
	case p.is(i, word):
		return p.word(i)
	case p.is(i, quoted):
		return strings.ReplaceAll(p.sql[p.tokens[i].start:p.tokens[i].end], `""`, `"`)
	}
	return ""
}
