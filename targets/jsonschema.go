package targets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// JSONSchema is the JSON Schema of a manifest, of draft 7, which editors read.
// It is made from the Go types; what the keys mean comes from the tables of
// page, the text of docs/manifest.md. A key without a row there is an error.
//
// A manifest that [Load] takes is valid by it, unless it spells out an empty
// word; templates, rules and what depends on several keys only Load checks.
func JSONSchema(page string) ([]byte, error) {
	w := schemaWriter{page: page, definitions: map[string]any{}}
	root := w.object(reflect.TypeFor[Manifest]())
	if len(w.missing) > 0 {
		return nil, fmt.Errorf("the page of the manifest has no row for %s", strings.Join(w.missing, ", "))
	}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "An outboxtest manifest"
	root["definitions"] = w.definitions
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return out.Bytes(), nil
}

// headings are where the page has the tables of a type's keys.
func headings(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Manifest]():
		return "## The keys"
	case reflect.TypeFor[Process](), reflect.TypeFor[App](), reflect.TypeFor[Relay](), reflect.TypeFor[Consumer]():
		return "### Roles: `app`, `relay`, `consumer`"
	case reflect.TypeFor[Command]():
		return "### `build`"
	case reflect.TypeFor[Request]():
		return "### Requests: `place`, `abort`"
	case reflect.TypeFor[EventRules]():
		return "### `event`"
	}
	return "### `" + strings.ToLower(t.Name()) + "`"
}

// keyRow is a row of a table of keys.
var keyRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|(?:.*\\|)? (.*) \\|$")

// aLink is a link of Markdown, of which a description keeps the words.
var aLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// keyRows are the keys that have a row under a heading, with the last cell.
func keyRows(page, heading string) (keys []string, meanings map[string]string) {
	_, section, _ := strings.Cut(page, "\n"+heading+"\n")
	if end := strings.Index(section, "\n#"); end >= 0 {
		section = section[:end]
	}
	meanings = map[string]string{}
	for _, row := range keyRow.FindAllStringSubmatch(section, -1) {
		keys = append(keys, row[1])
		meanings[row[1]] = aLink.ReplaceAllString(row[2], "$1")
	}
	return keys, meanings
}

type schemaWriter struct {
	page        string
	definitions map[string]any
	missing     []string
}

func (w *schemaWriter) object(t reflect.Type) map[string]any {
	_, meanings := keyRows(w.page, headings(t))
	properties := map[string]any{}
	var needed []string
	eachField(t, func(name string, field reflect.StructField, _ []int) {
		value := w.value(field.Type)
		constrain(t, name, value)
		if before, twice := properties[name].(map[string]any); twice {
			delete(before, "description")
			value = map[string]any{"anyOf": []any{before, value}}
		}
		meaning, ok := meanings[name]
		if !ok && !slices.Contains(w.missing, t.Name()+"."+name) {
			w.missing = append(w.missing, t.Name()+"."+name)
		}
		if _, isReference := value["$ref"]; isReference {
			value = map[string]any{"allOf": []any{value}} // draft 7 ignores what stands beside a reference
		}
		value["description"] = meaning
		properties[name] = value
		if !strings.Contains(field.Tag.Get("yaml"), "omitempty") {
			needed = append(needed, name)
		}
	})
	object := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(needed) > 0 {
		object["required"] = needed
	}
	return object
}

// aText is what is taken for a text: 8080 needs no quotes.
func aText() map[string]any {
	return map[string]any{"type": []string{"string", "number", "boolean"}}
}

func (w *schemaWriter) value(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return w.value(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": w.value(t.Elem())}
	case reflect.Slice:
		item := w.value(t.Elem())
		list := map[string]any{"type": "array", "items": item}
		if t.Elem().Kind() == reflect.Struct {
			return map[string]any{"anyOf": []any{item, list}}
		}
		return list
	case reflect.Struct:
		if _, done := w.definitions[t.Name()]; !done {
			w.definitions[t.Name()] = nil // so that a type that holds itself ends
			w.definitions[t.Name()] = w.forms(t)
		}
		return map[string]any{"$ref": "#/definitions/" + t.Name()}
	}
	return aText()
}

// forms are the ways to write a struct.
func (w *schemaWriter) forms(t reflect.Type) any {
	forms := []any{w.object(t)}
	switch t {
	case reflect.TypeFor[Relay]():
		forms = append(forms, map[string]any{"const": RoleApp})
	case reflect.TypeFor[Schema]():
		forms = append(forms, map[string]any{"const": byApp}, map[string]any{"type": "array", "items": aText()})
	case reflect.TypeFor[Command]():
		forms = append(forms, map[string]any{"type": "array", "items": aText()})
	case reflect.TypeFor[Ready]():
		forms = append(forms, map[string]any{"const": readyPort}, map[string]any{"type": "string", "pattern": `^GET /\S*$`})
	}
	if len(forms) == 1 {
		return forms[0]
	}
	return map[string]any{"anyOf": forms}
}

// constrain adds what a key's type does not tell.
func constrain(in reflect.Type, key string, value map[string]any) {
	among := func(words ...string) {
		delete(value, "type")
		value["enum"] = words
	}
	switch in.Name() + "." + key {
	case "Manifest.name":
		value["pattern"] = goodName.String()
	case "Manifest.claims":
		value["items"] = map[string]any{"enum": ClaimNames()}
	case "Broker.kind":
		among(BrokerKinds()...)
	case "Limits.ordering":
		among(orderingNone)
	case "Request.once":
		among(onceCustomer)
	case "Request.http":
		value["pattern"] = "^(" + strings.Join(httpMethods(), "|") + ") (/|\\{\\{)"
	case "Request.accepted":
		value["items"] = map[string]any{"type": "integer", "minimum": 200, "maximum": 599}
	case "Drain.polls":
		value["minimum"], value["maximum"] = 0, mostPolls
	case "Drain.seconds":
		value["minimum"], value["maximum"] = 0, mostSeconds
	}
	switch key {
	case "replicas":
		value["minimum"] = 0
		if in.Name() != "Limits" {
			value["maximum"] = mostReplicas
		}
	case "ready-within":
		value["minimum"], value["maximum"] = 0, mostReadySeconds
	}
}
