package targets

import (
	"strings"
	"testing"
)

func TestTooDeep(t *testing.T) {
	many := func(text string) string { return strings.Repeat(text, Deepest+1) }
	for _, c := range []struct {
		name, text   string
		line, column int // 0: it is let pass
	}{
		{"nothing", "", 0, 0},
		{"as deep as may be", strings.Repeat("[", Deepest) + strings.Repeat("]", Deepest), 0, 0},
		{"lists", "a: 1\nb: " + many("["), 2, Deepest + 4},
		{"mappings, one a line", many("{a:\n"), Deepest + 1, 1},
		{"lists in mappings", many("a: ["), 1, 4 * (Deepest + 1)},
		{"dashes", "a:\n  " + many("- "), 2, 1},
		{"many, beside each other", many("[a, {b: c}]\n"), 0, 0},
		{"in double quotes", `a: "\"` + many("[") + `"`, 0, 0},
		{"in single quotes", "a: '''" + many("{") + "'", 0, 0},
		{"in quotes over lines", "a: '" + many("{\n") + "'", 0, 0},
		{"after quotes", `{"a": "\\", b: ` + many("["), 1, 15 + Deepest},
		{"in a comment", "a: 1 # " + many("["), 0, 0},
		{"behind an apostrophe", "a: it's " + many("["), 1, 8 + Deepest + 1},
		{"a rule", strings.Repeat("-", 3) + "\na: 1", 0, 0},
	} {
		line, column, deep := TooDeep([]byte(c.text))
		if deep != (c.line > 0) || line != c.line || column != c.column {
			t.Errorf("%s: %v at %d:%d, want %d:%d", c.name, deep, line, column, c.line, c.column)
		}
	}
}

func TestADeepManifestIsRefused(t *testing.T) {
	_, err := Parse("deep.yaml", []byte("name: x\napp: "+strings.Repeat("{a: ", 20000)), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "deep.yaml:2:") || !strings.Contains(err.Error(), "more than 100 deep") {
		t.Errorf("got %.300v", err)
	}
}
