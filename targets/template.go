package targets

import (
	"fmt"
	"reflect"
	"strings"
	"text/template"
)

// Expand replaces the templates of a word of a command, of a variable's value,
// or of a statement: {{.Postgres.URL}}. What can be named is the fields of
// [Addresses]; a name that does not exist is an error. The language is that of
// text/template.
func Expand(text string, a Addresses) (string, error) { return expand(text, a) }

func expand(text string, names any) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	parsed, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("read the template %s: %s", bounded(text), plain(err))
	}
	var out strings.Builder
	if err := parsed.Execute(&out, names); err != nil {
		return "", fmt.Errorf("expand the template %s: %s", bounded(text), plain(err))
	}
	return out.String(), nil
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

// processAddresses is what a command and its environment can name: an order is
// not known when a process starts.
type processAddresses struct {
	Postgres                PostgresAddress
	Broker                  BrokerAddress
	Topic, Stream, Instance string
}

// names are what a template can name at a place.
type names struct {
	sample any
	list   []string
}

func addressNames() names { return namesOf(processAddresses{}) }
func orderNames() names   { return namesOf(Addresses{}) }

func namesOf(sample any) names {
	n := names{sample: sample}
	var walk func(prefix string, t reflect.Type)
	walk = func(prefix string, t reflect.Type) {
		for i := range t.NumField() {
			field := t.Field(i)
			if field.Type.Kind() == reflect.Struct {
				walk(prefix+"."+field.Name, field.Type)
				continue
			}
			n.list = append(n.list, prefix+"."+field.Name)
		}
	}
	walk("", reflect.TypeOf(sample))
	return n
}

func checkTemplate(f *findings, key, text string, n names) {
	if _, err := expand(text, n.sample); err != nil {
		f.add(key, "%v; known: %s", err, known(n.list))
	}
}

// bounded quotes a text, or its beginning.
func bounded(text string) string {
	const most = 80
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
