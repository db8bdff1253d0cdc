package report

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestEveryKeyIsDocumented keeps docs/json.md true to the types.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	collect(reflect.TypeFor[Demo](), keys)
	if len(keys) < 40 {
		t.Fatalf("only %d keys were found: %v", len(keys), keys)
	}
	for key := range keys {
		if !strings.Contains(string(text), "`"+key+"`") && !strings.Contains(string(text), `"`+key+`": `) {
			t.Errorf("docs/json.md does not tell of %q", key)
		}
	}
}

// collect gathers the JSON keys of a type and of all below it.
func collect(typ reflect.Type, keys map[string]bool) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice:
		collect(typ.Elem(), keys)
	case reflect.Struct:
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			keys[name] = true
			collect(field.Type, keys)
		}
	}
}
