package targets

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ruleForms is the mend of a rule that cannot be read.
const ruleForms = `write header:NAME, body:$.path, body (the whole body), key, or subject`

// rule is a compiled field rule.
type rule struct {
	text   string
	source string // header, body, path or subject
	header string
	path   path
}

// errAbsent is the error of a rule that looks for something that is not there,
// as opposed to something that cannot be read.
var errAbsent = errors.New("not there")

func compileRule(text string) (rule, error) {
	r := rule{text: text}
	source, detail, detailed := strings.Cut(text, ":")
	switch {
	case text == "body":
		r.source = "body"
	case text == "key", text == "subject":
		r.source = "subject" // a NATS message has no key but its subject
	case source == "header" && detailed:
		if detail == "" || strings.ContainsAny(detail, " \t\r\n:") {
			return rule{}, fmt.Errorf("%s names no header; %s", bounded(text), ruleForms)
		}
		r.source, r.header = "header", detail
	case source == "body" && detailed:
		path, err := compilePath(detail)
		if err != nil {
			return rule{}, fmt.Errorf("%s: %w", bounded(text), err)
		}
		r.source, r.path = "path", path
	default:
		return rule{}, fmt.Errorf("%s is no field rule; %s", bounded(text), ruleForms)
	}
	return r, nil
}

// message is one message of the log. The body is parsed at most once.
type message struct {
	subject string
	header  map[string][]string
	data    []byte

	parsed   bool
	document any
	err      error
}

func (m *message) json() (any, error) {
	if !m.parsed {
		m.parsed = true
		m.document, m.err = parseJSON(m.data)
	}
	return m.document, m.err
}

// find returns the value, which is never empty.
func (r rule) find(m *message) (string, error) {
	switch r.source {
	case "body":
		if len(m.data) == 0 {
			return "", fmt.Errorf("looked for %s, the body is empty: %w", r.text, errAbsent)
		}
		return string(m.data), nil
	case "subject":
		if m.subject == "" {
			return "", fmt.Errorf("looked for %s, there is none: %w", r.text, errAbsent)
		}
		return m.subject, nil
	case "header":
		return r.findHeader(m.header)
	}
	document, err := m.json()
	if err != nil {
		return "", fmt.Errorf("looked for %s, %w", r.text, err)
	}
	value, err := r.path.find(document)
	if err != nil {
		return "", fmt.Errorf("looked for %s, %w", r.text, err)
	}
	return value, nil
}

// findHeader takes the name as it is spelt, or else in any case.
func (r rule) findHeader(header map[string][]string) (string, error) {
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
		return "", fmt.Errorf("looked for %s, there are no headers: %w", r.text, errAbsent)
	case !ok:
		return "", fmt.Errorf("looked for %s, the headers are %s: %w", r.text, listed(names), errAbsent)
	case len(values) == 0 || values[0] == "":
		return "", fmt.Errorf("looked for %s, the header is empty: %w", r.text, errAbsent)
	}
	return values[0], nil
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

// condition is a compiled when rule.
type condition struct {
	left  rule
	right string
}

func compileCondition(text string) (condition, error) {
	const form = `write RULE == VALUE, such as body:$.type == OrderPlaced`
	left, right, ok := strings.Cut(text, "==")
	if !ok {
		return condition{}, fmt.Errorf("%s is no condition; %s", bounded(text), form)
	}
	r, err := compileRule(strings.TrimSpace(left))
	if err != nil {
		return condition{}, err
	}
	right = strings.TrimSpace(right)
	if strings.HasPrefix(right, `"`) {
		if right, err = strconv.Unquote(right); err != nil {
			return condition{}, fmt.Errorf("%s: the quotes do not close; %s", bounded(text), form)
		}
	}
	if right == "" {
		return condition{}, fmt.Errorf("%s compares with nothing; %s", bounded(text), form)
	}
	return condition{left: r, right: right}, nil
}

// holds is false where the field is not there. A body that cannot be read
// leaves it open whether the message is an event, which is an error.
func (c condition) holds(m *message) (bool, error) {
	value, err := c.left.find(m)
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	return value == c.right, err
}
