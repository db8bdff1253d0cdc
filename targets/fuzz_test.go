package targets

import (
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// FuzzParse: any text is either taken, and then sound by Validate too, or
// refused with problems that have a place in it and a text.
func FuzzParse(f *testing.F) {
	f.Add(sound)
	for _, r := range refusals {
		f.Add(strings.Replace(sound, r.old, r.new, 1))
	}
	f.Add("name: &a [*a]\n")
	f.Add("<<: {name: x}\n? [a]\n: b\n")
	files := fstest.MapFS{"schema.sql": {Data: []byte("-- empty")}}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "range") {
			return // a template may count as far as it likes
		}
		target, err := Parse("m.yaml", []byte(text), fs.FS(files), nil)
		if err == nil {
			if err := target.Validate(); err != nil {
				t.Errorf("taken and then found wrong: %v", err)
			}
			if _, err := target.Event.Compile(); err != nil {
				t.Errorf("taken with bad rules: %v", err)
			}
			return
		}
		var problems Problems
		if !errors.As(err, &problems) {
			t.Fatalf("the error is a %T: %v", err, err)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Text == "" {
				t.Errorf("a problem without a place or a text: %+v", p)
			}
		}
	})
}

// FuzzPath: a path that is taken means the same when it is written out, and no
// document makes it panic; it only finds texts, numbers and booleans.
func FuzzPath(f *testing.F) {
	f.Add("$.order.lines[0].sku", `{"order":{"lines":[{"sku":"s1"}]}}`)
	f.Add(`$["a.b"][1]`, `{"a.b":[1,true]}`)
	f.Add("$", `"o1"`)
	f.Add("$.a", `{"a":null} `)
	f.Fuzz(func(t *testing.T, text, body string) {
		p, err := compilePath(text)
		if err != nil {
			return
		}
		again, err := compilePath(p.String())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%q is written out as %q, which is %v, %v", text, p, again, err)
		}
		document, err := parseJSON([]byte(body))
		if (err == nil) != json.Valid([]byte(body)) {
			t.Errorf("%q: JSON or not? %v", body, err)
		}
		if err != nil {
			return
		}
		if value, err := p.find(document); err == nil && value == "" {
			t.Errorf("%q found nothing in %q without an error", text, body)
		}
	})
}
