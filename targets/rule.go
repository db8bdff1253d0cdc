package targets

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// ruleForms is the mend of a rule that cannot be read.
const ruleForms = `write header:NAME, body:$.path, body (the whole body), key, subject or topic; or one of them, " ~ " and a REGEXP with one group`

// Where a rule looks.
const (
	fromBody   = "body"
	fromPath   = "path"
	fromHeader = "header"
	fromKey    = "key"
	fromTopic  = "topic"
)

// rule is a compiled field rule.
type rule struct {
	text   string
	source string
	header string
	path   path
	// part, if set, has one group, which is what is taken of the field.
	part *regexp.Regexp
}

// errAbsent is the error of a rule that looks for something that is not there,
// as opposed to something that cannot be read.
var errAbsent = errors.New("not there")

// compileRule reads FIELD or FIELD ~ REGEXP.
func compileRule(text string) (rule, error) {
	field, pattern, parted := cutOutside(text, " ~ ")
	r, err := compileField(strings.TrimSpace(field))
	if err != nil || !parted {
		return r, err
	}
	r.text = text
	pattern = strings.TrimSpace(pattern)
	if r.part, err = regexp.Compile(pattern); err != nil {
		return rule{}, fmt.Errorf("%s: %s", bounded(text), badPattern(err))
	}
	if n := r.part.NumSubexp(); n != 1 {
		return rule{}, fmt.Errorf(`%s has %d groups; put parentheses around the one part to take, as in orders\.(.+)\.placed, and write (?:...) for others`, bounded(text), n)
	}
	return r, nil
}

// badPattern says what is wrong with a regular expression.
func badPattern(err error) string {
	const language = "the language is that of https://pkg.go.dev/regexp/syntax"
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%s in the expression at %s; %s", wrong.Code, bounded(wrong.Expr), language)
	}
	return fmt.Sprintf("%v; %s", err, language)
}

func compileField(text string) (rule, error) {
	r := rule{text: text}
	source, detail, detailed := strings.Cut(text, ":")
	switch {
	case text == "body":
		r.source = fromBody
	case text == "key":
		r.source = fromKey
	case text == "subject", text == "topic":
		r.source = fromTopic
	case source == "header" && detailed:
		if detail == "" || strings.ContainsAny(detail, " \t\r\n:") {
			return rule{}, fmt.Errorf("%s names no header; %s", bounded(text), ruleForms)
		}
		r.source, r.header = fromHeader, detail
	case source == "body" && detailed:
		path, err := compilePath(detail)
		if err != nil {
			return rule{}, fmt.Errorf("%s: %w", bounded(text), err)
		}
		r.source, r.path = fromPath, path
	default:
		return rule{}, fmt.Errorf("%s is no field rule; %s", bounded(text), ruleForms)
	}
	return r, nil
}

// cutOutside is strings.Cut, and does not look into the ["..."] of a path.
func cutOutside(text, separator string) (before, after string, found bool) {
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], separator) {
			return text[:i], text[i+len(separator):], true
		}
		if strings.HasPrefix(text[i:], `["`) {
			if quoted, err := strconv.QuotedPrefix(text[i+1:]); err == nil {
				i += len(quoted)
			}
		}
	}
	return text, "", false
}

// message is a message that rules are asked about, or one element of it. The
// body is parsed at most once.
type message struct {
	Message

	parsed   bool
	document any
	err      error
}

func (m *message) json() (any, error) {
	if !m.parsed {
		m.parsed = true
		m.document, m.err = parseJSON(m.Body)
	}
	return m.document, m.err
}

// find returns the value, which is never empty.
func (r rule) find(m *message) (string, error) {
	values, err := r.fields(m)
	if err != nil {
		return "", fmt.Errorf("looked for %s, %w", r.text, err)
	}
	if r.part == nil {
		return values[0], nil
	}
	for _, value := range values {
		if groups := r.part.FindStringSubmatch(value); groups != nil && groups[1] != "" {
			return groups[1], nil
		}
	}
	return "", fmt.Errorf("looked for %s, it is %s: %w", r.text, bounded(values[0]), errAbsent)
}

// fields returns the values of the field, of which at least the first is not
// empty. Only a header has several.
func (r rule) fields(m *message) ([]string, error) {
	one := func(value string) ([]string, error) {
		if value == "" {
			return nil, fmt.Errorf("there is none: %w", errAbsent)
		}
		return []string{value}, nil
	}
	switch r.source {
	case fromBody:
		if len(m.Body) == 0 {
			return nil, fmt.Errorf("the body is empty: %w", errAbsent)
		}
		return one(string(m.Body))
	case fromTopic:
		return one(m.Topic)
	case fromKey:
		return one(m.Key)
	case fromHeader:
		return r.findHeader(m.Header)
	}
	document, err := m.json()
	if err != nil {
		return nil, err
	}
	value, err := r.path.find(document)
	if err != nil {
		return nil, err
	}
	return one(value)
}

// findHeader takes the name as it is spelt, or else in any case.
func (r rule) findHeader(header map[string][]string) ([]string, error) {
	values, ok := header[r.header]
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names) // so that the choice does not depend on the map's order
	for _, name := range names {
		if !ok && strings.EqualFold(name, r.header) {
			values, ok = header[name], true
		}
	}
	switch {
	case !ok && len(names) == 0:
		return nil, fmt.Errorf("there are no headers: %w", errAbsent)
	case !ok:
		return nil, fmt.Errorf("the headers are %s: %w", listed(names), errAbsent)
	case len(values) == 0 || values[0] == "":
		return nil, fmt.Errorf("the header is empty: %w", errAbsent)
	}
	return values, nil
}

// listed is a list of names, cut where it gets long.
func listed(names []string) string {
	const most = 8
	var b strings.Builder
	for i, name := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if len(name) > 40 {
			name = name[:40] + "..."
		}
		b.WriteString(strconv.Quote(name))
	}
	return b.String()
}
