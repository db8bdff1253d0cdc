package targets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// path is a compiled JSON path: the steps from the document to one value.
type path []step

// step is a key of an object or an index of an array.
type step struct {
	key     string
	index   int
	isIndex bool
}

// mostIndex bounds an index, far above any event's length.
const mostIndex = 1 << 20

// compilePath reads $ followed by .name, ["name"] and [0].
func compilePath(text string) (path, error) {
	const form = `write $ and then .name, [0] or ["a name"]`
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, fmt.Errorf("%s does not begin with $; %s", bounded(text), form)
	}
	p := path{}
	for rest != "" {
		var s step
		var err error
		switch {
		case rest[0] == '.':
			s.key, rest = upTo(rest[1:], ".[")
			if s.key == "" || strings.ContainsAny(s.key, " \t*?@()]") {
				return nil, fmt.Errorf("%s has %q for a name; %s", bounded(text), s.key, form)
			}
		case strings.HasPrefix(rest, `["`):
			var quoted string
			if quoted, err = strconv.QuotedPrefix(rest[1:]); err == nil {
				s.key, err = strconv.Unquote(quoted)
				rest = rest[1+len(quoted):]
			}
			if err != nil || !strings.HasPrefix(rest, "]") {
				return nil, fmt.Errorf("%s has a bracket that does not close; %s", bounded(text), form)
			}
			rest = rest[1:]
		case rest[0] == '[':
			inside, after, closed := strings.Cut(rest[1:], "]")
			s.isIndex, rest = true, after
			s.index, err = strconv.Atoi(inside)
			if !closed || err != nil || s.index < 0 || s.index > mostIndex || inside[0] == '+' {
				return nil, fmt.Errorf("%s has %q for an index; %s", bounded(text), inside, form)
			}
		default:
			return nil, fmt.Errorf("%s goes on with %q; %s", bounded(text), rest[:1], form)
		}
		p = append(p, s)
	}
	return p, nil
}

func upTo(text, stops string) (before, rest string) {
	if i := strings.IndexAny(text, stops); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// find follows the path and returns the value's text: a string's own, a
// number's or a boolean's as JSON writes it.
func (p path) find(document any) (string, error) {
	value, err := p.walk(document)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		if v == "" {
			return "", fmt.Errorf("%s is an empty string: %w", p.here(), errAbsent)
		}
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", fmt.Errorf("%s is %s: %w", p.here(), kindOf(value), errAbsent)
}

// here is how messages call the place where the path ends.
func (p path) here() string {
	if len(p) == 0 {
		return "the body"
	}
	return p.String()
}

// walk follows the path to a value of any kind.
func (p path) walk(document any) (any, error) {
	value := document
	for i, s := range p {
		here := p[:i].here()
		var ok bool
		switch container := unfold(value).(type) {
		case map[string]any:
			if s.isIndex {
				return nil, fmt.Errorf("%s is an object and has no index: %w", here, errAbsent)
			}
			if value, ok = container[s.key]; !ok {
				keys := slices.Sorted(maps.Keys(container))
				if len(keys) == 0 {
					return nil, fmt.Errorf("%s is an empty object: %w", here, errAbsent)
				}
				return nil, fmt.Errorf("the keys of %s are %s: %w", here, listed(keys), errAbsent)
			}
		case []any:
			if !s.isIndex {
				return nil, fmt.Errorf("%s is an array: %w", here, errAbsent)
			}
			if s.index >= len(container) {
				return nil, fmt.Errorf("%s has %d elements: %w", here, len(container), errAbsent)
			}
			value = container[s.index]
		default:
			return nil, fmt.Errorf("%s is %s: %w", here, kindOf(value), errAbsent)
		}
	}
	return value, nil
}

// unfold looks into a text that holds a JSON object or array, as serializers
// write a payload that was JSON already.
func unfold(value any) any {
	text, ok := value.(string)
	if !ok || !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return value
	}
	if document, err := parseJSON([]byte(text)); err == nil {
		return document
	}
	return value
}

// String is the path as a person writes it.
func (p path) String() string {
	var b strings.Builder
	b.WriteString("$")
	for _, s := range p {
		switch {
		case s.isIndex:
			fmt.Fprintf(&b, "[%d]", s.index)
		case s.key == "" || strings.ContainsAny(s.key, ".[] \t*?@()\"\\\n\r"):
			fmt.Fprintf(&b, "[%s]", strconv.Quote(s.key))
		default:
			b.WriteString("." + s.key)
		}
	}
	return b.String()
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	}
	return "a boolean"
}

// parseJSON reads exactly one JSON document, with numbers as they are written.
func parseJSON(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) && len(bytes.TrimSpace(data)) == 0 {
			return nil, errors.New("the body is empty")
		}
		return nil, fmt.Errorf("the body is not JSON: it begins %s", beginning(data))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the body is more than one JSON document: it begins %s", beginning(data))
	}
	return document, nil
}

func beginning(data []byte) string {
	const most = 40
	return strconv.Quote(string(data[:min(len(data), most)]))
}
