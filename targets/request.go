package targets

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Request is one HTTP request to the app, on its own port.
type Request struct {
	// HTTP is the method and the path: POST /orders. Templates are allowed in
	// the path.
	HTTP string `yaml:"http"`
	// Body is what is sent, templates allowed.
	Body string `yaml:"body,omitempty"`
	// Headers are sent with it, templates allowed in their values.
	Headers map[string]string `yaml:"headers,omitempty"`
	// Accepted are the statuses that say that it worked; none: any 2xx.
	Accepted []int `yaml:"accepted,omitempty"`
	// Save has field rules, header: or body:, for what later requests need of
	// the answer: {{.Saved.NAME}}.
	Save map[string]string `yaml:"save,omitempty"`
	// Once is customer where only the first order of each customer has the
	// request; what it saved is there for all of them.
	Once string `yaml:"once,omitempty"`
}

// onceCustomer is the one word that Request.Once can hold.
const onceCustomer = "customer"

func (*Request) mend() string {
	return `write a request: {http: POST /orders, body: '{"ref": "{{.Order}}"}'}`
}

// ForCustomer tells that the request is for a customer's first order only.
func (r Request) ForCustomer() bool { return r.Once == onceCustomer }

// Accepts tells whether a status says that the request worked.
func (r Request) Accepts(status int) bool {
	if len(r.Accepted) > 0 {
		return slices.Contains(r.Accepted, status)
	}
	return status >= 200 && status <= 299
}

// AbortAccepts tells whether a status says that request i of AbortBy did what
// it should. The last of them is to fail, so that any status will do if it does
// not say which.
func (a App) AbortAccepts(i, status int) bool {
	r := a.AbortBy[i]
	return i == len(a.AbortBy)-1 && len(r.Accepted) == 0 || r.Accepts(status)
}

// Call is a request whose templates are replaced.
type Call struct {
	Method, Path string
	Headers      map[string]string
	Body         string
}

// contentType is what a body is said to be, if the manifest does not say.
const contentType, jsonType = "Content-Type", "application/json"

// Expand replaces the templates. A body without a Content-Type is said to be
// JSON.
func (r Request) Expand(a Addresses) (Call, error) {
	method, path, _ := strings.Cut(r.HTTP, " ")
	c := Call{Method: method, Headers: map[string]string{}}
	var wrong []error
	replace := func(what, text string) string {
		expanded, err := Expand(text, a)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", what, err))
		}
		return expanded
	}
	c.Path = replace("http", path)
	typed := false
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		c.Headers[name] = replace("headers."+name, r.Headers[name])
		typed = typed || strings.EqualFold(name, contentType)
	}
	c.Body = replace("body", r.Body)
	if c.Body != "" && !typed {
		c.Headers[contentType] = jsonType
	}
	return c, errors.Join(wrong...)
}

// AnswerReader reads what a request saves of its answer. It may be used by
// several goroutines at once.
type AnswerReader struct {
	names []string
	rules []rule
}

// CompileSave checks the rules of Save and makes a reader of them.
func (r Request) CompileSave() (*AnswerReader, error) {
	var reader AnswerReader
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(r.Save)) {
		compiled, err := compileAnswerRule(r.Save[name])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("save.%s: %w", name, err))
			continue
		}
		reader.names, reader.rules = append(reader.names, name), append(reader.rules, compiled)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return &reader, nil
}

// compileAnswerRule reads a field rule for an answer, which has neither a key
// nor a topic.
func compileAnswerRule(text string) (rule, error) {
	compiled, err := compileRule(text)
	if err == nil && (compiled.source == fromKey || compiled.source == fromTopic) {
		return rule{}, fmt.Errorf("an answer has no %s; write header:NAME or body:$.path", compiled.source)
	}
	return compiled, err
}

// Read finds the values in one answer, by their names. The error says what was
// looked for and what was there; what was found is returned with it.
func (r *AnswerReader) Read(header map[string][]string, body []byte) (map[string]string, error) {
	m := &message{Message: Message{Header: header, Body: body}}
	found := map[string]string{}
	var wrong []error
	for i, name := range r.names {
		value, err := r.rules[i].find(m)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("no %s: %w", name, err))
			continue
		}
		found[name] = value
	}
	return found, errors.Join(wrong...)
}
