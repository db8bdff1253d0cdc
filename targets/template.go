package targets

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"text/template"
)

// Expand replaces the templates of a word of a command, of a variable's value,
// or of a statement: {{.Postgres.URL}}. What can be named is the fields of
// [Addresses]; a name that does not exist is an error. The language is that of
// text/template, with the function json, which makes a text one of JSON.
func Expand(text string, a Addresses) (string, error) { return expand(text, a) }

func expand(text string, names any) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	parsed, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{"json": quoteJSON}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("read the template %s: %s", bounded(text), plain(err))
	}
	var out strings.Builder
	if err := parsed.Execute(&out, names); err != nil {
		return "", fmt.Errorf("expand the template %s: %s", bounded(text), plain(err))
	}
	return out.String(), nil
}

// quoteJSON makes a text one of JSON, quotes and all.
func quoteJSON(text string) (string, error) {
	quoted, err := json.Marshal(text)
	return string(quoted), err
}

// plain leaves out where in the template the library stood: the templates are
// shorter than that.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "template: ")
	if _, after, ok := strings.Cut(text, ">: "); ok {
		before, _, _ := strings.Cut(after, " in type ") // a type of ours says nothing to a user
		return before
	}
	return strings.TrimLeft(text, ":0123456789 ")
}

// names are what a template can name at a place. The sample has them as fields,
// so that naming anything else is an error.
type names struct {
	sample any
	list   []string
}

// databaseNames are for what runs on the template database alone.
func databaseNames() names {
	return namesOf(struct{ Postgres PostgresAddress }{}, nil)
}

// addresses are what every process has.
type addresses struct {
	Postgres                PostgresAddress
	Broker                  BrokerAddress
	Topic, Stream, Instance string
}

// processNames are for a command, its environment and its files: an order is
// not known when a process starts.
func processNames(p Process) names {
	type process struct {
		addresses
		Port string
	}
	if len(p.Files) == 0 {
		return namesOf(process{}, nil)
	}
	return namesOf(struct {
		process
		Files string
	}{}, nil)
}

// orderWords are what is known of an order.
type orderWords struct{ Order, Customer, UUID, CustomerUUID string }

// statementNames are for the statements of one order.
func statementNames() names {
	return namesOf(struct {
		addresses
		orderWords
	}{}, nil)
}

// requestNames are for the requests of one order, after those that saved.
func requestNames(saved []string) names {
	type request struct {
		addresses
		Port string
		orderWords
		Saved map[string]string
	}
	sample := request{Saved: map[string]string{}}
	for _, name := range saved {
		sample.Saved[name] = "x"
	}
	return namesOf(sample, saved)
}

func namesOf(sample any, saved []string) names {
	n := names{sample: sample}
	var walk func(prefix string, t reflect.Type)
	walk = func(prefix string, t reflect.Type) {
		for i := range t.NumField() {
			field := t.Field(i)
			switch {
			case field.Anonymous:
				walk(prefix, field.Type)
			case field.Type.Kind() == reflect.Struct:
				walk(prefix+"."+field.Name, field.Type)
			case field.Type.Kind() == reflect.Map:
				for _, key := range saved {
					n.list = append(n.list, prefix+"."+field.Name+"."+key)
				}
			default:
				n.list = append(n.list, prefix+"."+field.Name)
			}
		}
	}
	walk("", reflect.TypeOf(sample))
	return n
}

// depends tells whether a template's text changes with what vary changes.
func depends(text string, saved []string, vary func(a *Addresses, word string)) bool {
	expanded := func(word string) string {
		a := Addresses{Saved: map[string]string{}}
		for _, name := range saved {
			a.Saved[name] = "x"
		}
		vary(&a, word)
		out, err := Expand(text, a)
		if err != nil {
			return ""
		}
		return out
	}
	return expanded("one") != expanded("two")
}

// checkTemplate tells whether a text can be expanded where n is known.
func checkTemplate(f *findings, key, text string, n names) bool {
	_, err := expand(text, n.sample)
	if err != nil {
		f.add(key, "%v; known: %s", err, known(n.list))
	}
	return err == nil
}

// bounded quotes a text, or its beginning.
func bounded(text string) string {
	const most = 80
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
