package pgwire

import (
	"strings"
	"unicode/utf8"
)

// tokenKind is as much as a label needs to know of a token.
type tokenKind uint8

const (
	// other is a run of literals, parameters, commas and operators.
	other tokenKind = iota
	word
	quoted // a quoted identifier; its text is without the quotes
	dot
	opening
	closing
)

// token is a piece of SQL between two byte offsets.
type token struct {
	kind       tokenKind
	start, end int
	// match of an opening is the index of its closing, or the number of tokens.
	match int
}

// lexer cuts SQL into statements of tokens, by the lexical rules of the manual,
// "SQL Syntax", with standard_conforming_strings on.
type lexer struct {
	sql string
	at  int
}

// statement returns the tokens up to the next semicolon, and false at the end
// of the text. The tokens are good until the next call.
func (l *lexer) statement(tokens []token) ([]token, bool) {
	tokens = tokens[:0]
	var open []int // the openings that are not closed yet
	body := 0      // the depth of BEGIN ATOMIC ... END in a routine
	for l.at < len(l.sql) {
		kind, start, end := l.next()
		if end == start {
			continue // space or a comment
		}
		switch kind {
		case other:
			if l.sql[start] == ';' && len(open) == 0 && body == 0 {
				return tokens, true
			}
			if n := len(tokens); n > 0 && tokens[n-1].kind == other {
				tokens[n-1].end = end
				continue
			}
		case opening:
			open = append(open, len(tokens))
		case closing:
			if len(open) == 0 {
				kind = other
				break
			}
			tokens[open[len(open)-1]].match = len(tokens)
			open = open[:len(open)-1]
		case word:
			body += routineDepth(l.sql, tokens, l.sql[start:end], body)
		case quoted:
			start, end = start+1, end-1
			end = max(start, end)
		}
		tokens = append(tokens, token{kind: kind, start: start, end: end})
	}
	for _, i := range open {
		tokens[i].match = len(tokens)
	}
	return tokens, len(tokens) > 0
}

// routineDepth is what a word adds to the depth of a routine's SQL body, inside
// which semicolons do not end the statement (PostgreSQL 14 and later).
func routineDepth(sql string, tokens []token, w string, depth int) int {
	if len(tokens) == 0 {
		return 0
	}
	first, last := tokens[0], tokens[len(tokens)-1]
	if first.kind != word || first.end-first.start != len("create") || !strings.EqualFold(sql[first.start:first.end], "create") {
		return 0
	}
	switch {
	case depth == 0:
		if strings.EqualFold(w, "atomic") && strings.EqualFold(sql[last.start:last.end], "begin") {
			return 1
		}
	case strings.EqualFold(w, "case"), strings.EqualFold(w, "begin"):
		return 1
	case strings.EqualFold(w, "end"):
		return -1
	}
	return 0
}

// next cuts one token off. An empty one is space or a comment.
func (l *lexer) next() (kind tokenKind, start, end int) {
	s := l.sql
	start = l.at
	skip := func(to int) (tokenKind, int, int) { l.at = to; return other, start, start }
	take := func(k tokenKind, to int) (tokenKind, int, int) { l.at = to; return k, start, to }
	switch b := s[start]; {
	case b <= ' ':
		return skip(start + 1)
	case b == '-' && strings.HasPrefix(s[start:], "--"):
		return skip(lineEnd(s, start))
	case b == '/' && strings.HasPrefix(s[start:], "/*"):
		return skip(commentEnd(s, start))
	case b == '\'':
		return take(other, quoteEnd(s, start, '\'', false))
	case b == '"':
		return take(quoted, quoteEnd(s, start, '"', false))
	case b == '$':
		return take(other, dollarEnd(s, start))
	case b >= '0' && b <= '9':
		return take(other, wordEnd(s, start, true))
	case b == '.':
		return take(dot, start+1)
	case b == '(':
		return take(opening, start+1)
	case b == ')':
		return take(closing, start+1)
	case wordStart(b):
		to := wordEnd(s, start, false)
		if to-start == 1 && to < len(s) {
			switch prefix := b | 0x20; {
			case s[to] == '\'' && strings.IndexByte("ebxn", prefix) >= 0:
				return take(other, quoteEnd(s, to, '\'', prefix == 'e'))
			case prefix == 'u' && strings.HasPrefix(s[to:], "&'"):
				return take(other, quoteEnd(s, to+1, '\'', false))
			case prefix == 'u' && strings.HasPrefix(s[to:], `&"`):
				start = to + 1
				return take(quoted, quoteEnd(s, start, '"', false))
			}
		}
		return take(word, to)
	}
	return take(other, start+1)
}

func wordStart(b byte) bool {
	return b == '_' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= utf8.RuneSelf
}

func wordEnd(s string, i int, number bool) int {
	for i < len(s) && (wordStart(s[i]) || s[i] >= '0' && s[i] <= '9' || s[i] == '$' && !number || s[i] == '.' && number) {
		i++
	}
	return i
}

func lineEnd(s string, i int) int {
	if n := strings.IndexAny(s[i:], "\r\n"); n >= 0 {
		return i + n
	}
	return len(s)
}

// commentEnd ends a comment; comments nest.
func commentEnd(s string, i int) int {
	for depth := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(s[i:], "*/"):
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(s)
}

// quoteEnd ends a string or a quoted identifier; a doubled quote is one quote.
func quoteEnd(s string, i int, quote byte, backslash bool) int {
	for i++; i < len(s); i++ {
		switch {
		case s[i] == '\\' && backslash:
			i++
		case s[i] != quote:
		case i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(s)
}

// dollarEnd ends $tag$ ... $tag$, or a parameter such as $1.
func dollarEnd(s string, i int) int {
	tag := i + 1
	for tag < len(s) && (wordStart(s[tag]) || tag > i+1 && s[tag] >= '0' && s[tag] <= '9') {
		tag++
	}
	if tag >= len(s) || s[tag] != '$' {
		return wordEnd(s, i+1, true)
	}
	tag++
	if n := strings.Index(s[tag:], s[i:tag]); n >= 0 {
		return tag + n + (tag - i)
	}
	return len(s)
}
