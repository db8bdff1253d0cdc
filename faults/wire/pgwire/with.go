package pgwire

// maxWiths bounds how much of a WITH list is read.
const maxWiths = 64

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
		if t := p.tokens[i]; (t.kind == word || t.kind == quoted) && name(p.lower[t.start:t.end]) == text {
			return true
		}
	}
	return false
}
