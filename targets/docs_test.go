package targets

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const schemaFile = "../docs/manifest.schema.json"

var rewrite = flag.Bool("rewrite", false, "write docs/manifest.schema.json anew")

func manual(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/manifest.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// examples are those of docs/manifest.md.
func examples(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, part := range strings.Split(manual(t), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		texts = append(texts, text)
	}
	if len(texts) != 3 {
		t.Fatalf("the page has %d examples", len(texts))
	}
	return texts
}

// TestExamples loads every example of docs/manifest.md as it stands there.
func TestExamples(t *testing.T) {
	for _, text := range examples(t) {
		path := written(t, text)
		if err := os.Mkdir(filepath.Join(filepath.Dir(path), "db"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "db", "schema.sql"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err != nil {
			t.Error(err)
		}
	}
}

// eachStruct visits the structs that a manifest is made of, the manifest first.
func eachStruct(visit func(reflect.Type)) {
	var seen []reflect.Type
	var walk func(reflect.Type)
	walk = func(s reflect.Type) {
		for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice}, s.Kind()) {
			s = s.Elem()
		}
		if s.Kind() != reflect.Struct || slices.Contains(seen, s) {
			return
		}
		seen = append(seen, s)
		visit(s)
		eachField(s, func(_ string, field reflect.StructField, _ []int) { walk(field.Type) })
	}
	walk(reflect.TypeFor[Manifest]())
}

// TestManualIsWhole: every key, claim, broker, template and variable is on the
// page, and every row of the page is a key.
func TestManualIsWhole(t *testing.T) {
	page := manual(t)
	keys := map[string][]string{}
	eachStruct(func(s reflect.Type) { keys[headings(s)] = append(keys[headings(s)], fieldNames(s)...) })
	for heading, names := range keys {
		rows, _ := keyRows(page, heading)
		for _, name := range names {
			if !slices.Contains(rows, name) {
				t.Errorf("there is no row for the key %s below %s", name, heading)
			}
		}
		for _, row := range rows {
			if !slices.Contains(names, row) {
				t.Errorf("the row for %s below %s is of no key", row, heading)
			}
		}
	}
	want := append(ClaimNames(), alwaysJudged()...)
	want = append(want, BrokerKinds()...)
	for _, line := range Environment(Addresses{Port: "1"}) {
		name, _, _ := strings.Cut(line, "=")
		want = append(want, name)
	}
	for _, name := range want {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
	for _, name := range slices.Concat(requestNames([]string{"NAME"}).list, processNames(Process{Files: map[string]string{"a": ""}}).list) {
		if !strings.Contains(page, "`{{"+name+"}}`") {
			t.Errorf("the page does not name {{%s}}", name)
		}
	}
}

func jsonSchema(t *testing.T) []byte {
	t.Helper()
	text, err := JSONSchema(manual(t))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestJSONSchemaIsCurrent: go test ./targets -run JSONSchemaIsCurrent -rewrite
// writes it anew.
func TestJSONSchemaIsCurrent(t *testing.T) {
	want := jsonSchema(t)
	if *rewrite {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types and the page make of it; write it anew with: go test ./targets -run JSONSchemaIsCurrent -rewrite", schemaFile)
	}
}

// TestJSONSchemaIsWhole: the schema has the keys of every type, and no others.
func TestJSONSchemaIsWhole(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(jsonSchema(t), &root); err != nil {
		t.Fatal(err)
	}
	definitions := root["definitions"].(map[string]any)
	seen := 0
	eachStruct(func(s reflect.Type) {
		object := root
		if s != reflect.TypeFor[Manifest]() {
			definition, ok := definitions[s.Name()].(map[string]any)
			if !ok {
				t.Errorf("there is no definition of %s", s.Name())
				return
			}
			seen++
			object = definition
			if forms, several := definition["anyOf"].([]any); several {
				object = forms[0].(map[string]any)
			}
		}
		properties := object["properties"].(map[string]any)
		for _, name := range fieldNames(s) {
			property, ok := properties[name].(map[string]any)
			if text, _ := property["description"].(string); !ok || text == "" {
				t.Errorf("%s.%s is not in the schema, or without a description", s.Name(), name)
			}
			delete(properties, name)
		}
		for name := range properties {
			t.Errorf("%s has no key %s", s.Name(), name)
		}
	})
	if seen != len(definitions) {
		t.Errorf("%d types and %d definitions", seen, len(definitions))
	}
	if _, err := JSONSchema("# no page"); err == nil || !strings.Contains(err.Error(), "Request.http") {
		t.Errorf("a page without rows: %v", err)
	}
}

// TestJSONSchemaJudges: what Load takes is valid, and slips are not.
func TestJSONSchemaJudges(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(jsonSchema(t), &root); err != nil {
		t.Fatal(err)
	}
	judge := func(text string) error {
		var document any
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return validate(root, root, document, "")
	}
	valid := append(examples(t), sound)
	for _, form := range forms() {
		valid = append(valid, strings.Replace(sound, form.old, form.new, 1))
	}
	for _, text := range valid {
		if err := judge(text); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	for _, slip := range []struct{ old, new string }{
		{"committed:", "comitted:"},
		{"replicas: 2", "replicas: two"},
		{"replicas: 2", "replicas: 17"},
		{"stdio: true", "place: {htp: POST /orders}"},
		{"stdio: true", "place: {http: PSOT /orders}"},
		{"stdio: true", "place: {http: POST /orders, once: order}"},
		{"stdio: true", "stdio: true\n  ready: soon"},
		{"schema: [schema.sql]", "schema: by hand"},
		{"relay: {start: [./relay], replicas: 2}", "relay: service"},
		{"committed:", "claims: [writes-survive]\ncommitted:"},
		{"committed:", "limits: {ordering: some}\ncommitted:"},
		{"committed:", "build: {dir: web}\ncommitted:"},
	} {
		if judge(strings.Replace(sound, slip.old, slip.new, 1)) == nil {
			t.Errorf("%s is valid", slip.new)
		}
	}
}
