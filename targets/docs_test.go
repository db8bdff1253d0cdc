package targets

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func manual(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/manifest.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestExamples loads every example of docs/manifest.md as it stands there.
func TestExamples(t *testing.T) {
	parts := strings.Split(manual(t), "```yaml\n")[1:]
	if len(parts) != 2 {
		t.Fatalf("the page has %d examples", len(parts))
	}
	for _, part := range parts {
		text, _, _ := strings.Cut(part, "```")
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

// TestManualIsWhole: every key, claim, broker, template and variable is on the page.
func TestManualIsWhole(t *testing.T) {
	page := manual(t)
	var walk func(reflect.Type)
	walk = func(s reflect.Type) {
		for _, name := range fieldNames(s) {
			if !strings.Contains(page, "\n| `"+name+"` |") {
				t.Errorf("there is no row for the key %s of %s", name, s.Name())
			}
			field, _ := fieldByName(reflect.New(s).Elem(), name)
			kind := field.Type()
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			if kind.Kind() == reflect.Struct {
				walk(kind)
			}
		}
	}
	walk(reflect.TypeFor[Manifest]())
	want := append(ClaimNames(), alwaysJudged()...)
	want = append(want, BrokerKinds()...)
	for _, line := range Environment(Addresses{}) {
		name, _, _ := strings.Cut(line, "=")
		want = append(want, name)
	}
	for _, name := range want {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
	for _, name := range orderNames().list {
		if !strings.Contains(page, "`{{"+name+"}}`") {
			t.Errorf("the page does not name {{%s}}", name)
		}
	}
}
