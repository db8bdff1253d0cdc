package trial

import (
	"regexp"
	"strings"

	"github.com/outboxtest/outboxtest/faults/wire/pgwire"
)

var (
	// severalTables are the words of a query that may read more than one table.
	severalTables = regexp.MustCompile(`(?i)\b(join|union|intersect|except|with|lateral|exists)\b|\(\s*select\b`)
	from          = regexp.MustCompile(`(?i)\bfrom\b`)
	afterFrom     = regexp.MustCompile(`(?i)\b(where|order|group|limit)\b`)
)

// orderTable is the one table that the committed query reads, as labels spell it;
// empty where there are several, or it is hard to tell.
func orderTable(committed string) string {
	if severalTables.MatchString(committed) {
		return ""
	}
	table, one := strings.CutPrefix(pgwire.Label(committed).Label, "select ")
	if !one || strings.ContainsAny(table, " ;(.") || manyTables(committed, table) {
		return ""
	}
	return table
}

// manyTables reports whether the query lists tables with commas, or has FROM
// more than once.
func manyTables(query, table string) bool {
	found := from.FindAllStringIndex(query, -1)
	if len(found) != 1 {
		return true
	}
	rest := query[found[0][1]:]
	if end := afterFrom.FindStringIndex(rest); end != nil {
		rest = rest[:end[0]]
	}
	return strings.Contains(rest, ",") || !strings.Contains(strings.ToLower(rest), table)
}
