package targets

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// OrderFinder finds the order that a field is about. It may be used by several
// goroutines at once.
type OrderFinder struct {
	tokens []string
	uuids  map[string]string // a UUID's 32 digits to its token
}

// FindOrders makes a finder for the orders with these tokens.
func FindOrders(tokens []string) *OrderFinder {
	f := &OrderFinder{uuids: map[string]string{}}
	for _, token := range tokens {
		if token == "" || slices.Contains(f.tokens, token) {
			continue
		}
		f.tokens = append(f.tokens, token)
		f.uuids[uuidDigits(UUID(token))] = token
	}
	return f
}

// AmbiguousError is the error of a field that is about several orders.
type AmbiguousError struct {
	// Value is the field's, or its beginning; Tokens are the orders'.
	Value  string
	Tokens []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q names the orders %s: write a query whose column names one", e.Value, strings.Join(e.Tokens, ", "))
}

// aUUID matches a UUID with its dashes or without.
var aUUID = regexp.MustCompile(`(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)

func uuidDigits(uuid string) string { return strings.ToLower(strings.ReplaceAll(uuid, "-", "")) }

// Find returns the token of the order that a value names: the token itself, its
// [UUID] in any case and with dashes or without, or a text in which one of them
// stands as a whole word. It is empty where the value names no order; a value
// that names several is an [AmbiguousError].
func (f *OrderFinder) Find(value string) (string, error) {
	if slices.Contains(f.tokens, value) {
		return value, nil
	}
	var found []string
	note := func(token string) {
		if !slices.Contains(found, token) {
			found = append(found, token)
		}
	}
	// A foreign UUID is taken out: a token may look like one of its groups.
	rest := replaceWords(value, aUUID, func(uuid string) {
		if token, ours := f.uuids[uuidDigits(uuid)]; ours {
			note(token)
		}
	})
	for _, token := range f.tokens {
		if containsWord(rest, token) {
			note(token)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	slices.Sort(found)
	const most = 80
	return "", &AmbiguousError{Value: value[:min(len(value), most)], Tokens: found}
}

// replaceWords shows the matches that are whole words, and returns the text with
// a blank for each.
func replaceWords(text string, pattern *regexp.Regexp, show func(string)) string {
	var b strings.Builder
	end := 0
	for _, at := range pattern.FindAllStringIndex(text, -1) {
		if !wordAt(text, at[0], at[1]) {
			continue
		}
		show(text[at[0]:at[1]])
		b.WriteString(text[end:at[0]] + " ")
		end = at[1]
	}
	b.WriteString(text[end:])
	return b.String()
}

func containsWord(text, word string) bool {
	for from := 0; ; from++ {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		from += i
		if wordAt(text, from, from+len(word)) {
			return true
		}
	}
}

// wordAt tells whether no letter or digit touches text[from:to]. A byte beyond
// ASCII is part of a letter.
func wordAt(text string, from, to int) bool {
	inWord := func(b byte) bool {
		return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
	}
	return (from == 0 || !inWord(text[from-1])) && (to == len(text) || !inWord(text[to]))
}
