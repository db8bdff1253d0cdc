package pgwire

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxLabel bounds a label, in bytes.
	maxLabel = 120
	// maxName is the longest name that Postgres keeps (NAMEDATALEN - 1).
	maxName = 63
	// maxListed bounds the statements, and the changes of one statement, that
	// a label names.
	maxListed = 4
)

// Statement is what a text of SQL is called, and what can be known of its
// effect before the server has run it.
type Statement struct {
	// Label names it: lower case, without quotes, schema or alias, one line of
	// valid UTF-8 of at most 120 bytes, never empty. A text of several statements has
	// their labels joined by "; ", without consecutive repeats, at most four.
	Label string
	// Begin: it leaves a transaction block open that was not open before.
	Begin bool
	// End: it ends a transaction block that was open before. A text that holds
	// its whole block, begin and commit, has neither Begin nor End.
	End bool
	// Changes: it may change data. A query that calls a function of unknown
	// nature may.
	Changes bool
	// Quiet: it does nothing to or with data: begin, set, show, savepoint,
	// a select without a table, an advisory lock.
	Quiet bool

	// parts are the traits of the single statements.
	parts []trait
	// prepare names what SQL PREPARE keeps in prepared; execute what SQL
	// EXECUTE runs; forgets what DEALLOCATE drops.
	prepare    string
	prepared   *Statement
	execute    string
	forgets    []string
	forgetsAll bool
	// text is a hash of the SQL, 0 when it is not known whole.
	text uint64
}

// trait is a set of what one statement is.
type trait uint8

const (
	begins     trait = 1 << iota // opens a transaction block
	ends                         // ends one
	chain                        // ends one and opens the next: AND CHAIN
	rollbackTo                   // has the tag ROLLBACK and ends nothing
	changes                      // may change data
	uncounted                    // changes rows that its tag does not count
	quiet                        // does nothing to or with data
	reads                        // a query that names no change: what it did is in what it returns
)

// part is what the i-th statement is, as far as known.
func (s *Statement) part(i int) trait {
	if s == nil || i >= len(s.parts) {
		return 0
	}
	return s.parts[i]
}

// Label reads SQL. It never fails: what it does not understand is named by its
// first word, and a text without any word "statement" or "empty".
func Label(sql string) Statement { return new(labeller).label(sql) }

// keepTokens is how many tokens a labeller keeps room for.
const keepTokens = 1 << 10

// labeller labels one text after the other, in the same memory.
type labeller struct{ tokens []token }

func (r *labeller) label(sql string) Statement {
	var (
		all    Statement
		labels labels
		open   bool
		more   bool
	)
	tokens := r.tokens
	lex := lexer{sql: sql}
	lower := lowerASCII(sql)
	all.Quiet = true
	for {
		if tokens, more = lex.statement(tokens); !more {
			break
		}
		if len(tokens) == 0 {
			continue // nothing between two semicolons
		}
		p := parser{sql: sql, lower: lower, tokens: tokens}
		label, t := p.statement(0, &all)
		labels.add(label)
		if t&ends != 0 {
			all.End = all.End || !open
			open = t&chain != 0
		}
		if t&begins != 0 {
			open = true
		}
		all.Changes = all.Changes || t&changes != 0
		all.Quiet = all.Quiet && t&quiet != 0
		all.parts = append(all.parts, t)
	}
	if r.tokens = tokens; cap(tokens) > keepTokens {
		r.tokens = nil
	}
	all.Begin = open
	if all.Label = labels.join("; "); all.Label == "" {
		all.Label = "empty"
		all.parts = []trait{quiet}
	}
	return all
}

// labels collects labels without consecutive repeats, and not too many.
type labels struct {
	list [maxListed]string
	n    int
	more bool
}

func (l *labels) add(label string) {
	switch {
	case l.n > 0 && l.list[l.n-1] == label && !l.more:
	case l.n == maxListed:
		l.more = true
	default:
		l.list[l.n] = label
		l.n++
	}
}

func (l *labels) join(by string) string {
	s := strings.Join(l.list[:l.n], by)
	if l.more {
		s += by + "..."
	}
	return cut(s, maxLabel)
}

// cut shortens s to limit bytes, at a rune.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	i := limit - len("...")
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return s[:i] + "..."
}

// lowerASCII lowers the ASCII letters of s and leaves every byte where it is.
func lowerASCII(s string) string {
	upper := func(b byte) bool { return b >= 'A' && b <= 'Z' }
	for i := range len(s) {
		if !upper(s[i]) {
			continue
		}
		var b strings.Builder
		b.Grow(len(s))
		for i := range len(s) {
			if upper(s[i]) {
				b.WriteByte(s[i] | 0x20)
			} else {
				b.WriteByte(s[i])
			}
		}
		return b.String()
	}
	return s
}

// name makes an identifier fit for a label.
func name(s string) string {
	plain := len(s) <= maxName
	for i := 0; plain && i < len(s); i++ {
		b := s[i]
		plain = b == '_' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9'
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch r = unicode.ToLower(r); {
		case r == utf8.RuneError, r == '"', r == '\\', r != ' ' && !unicode.IsPrint(r):
			r = '_'
		}
		if b.Len()+utf8.RuneLen(r) > maxName {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
