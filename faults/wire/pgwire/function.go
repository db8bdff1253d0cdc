package pgwire

import "strings"

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

// nature is what is known of the effect of a function.
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
