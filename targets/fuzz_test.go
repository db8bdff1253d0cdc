package targets

import (
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// FuzzParse: any text is either taken, and then sound by Validate too, or
// refused with problems that have a place in it and a text.
func FuzzParse(f *testing.F) {
	f.Add(sound)
	for _, r := range append(slices.Clone(refusals), keyRefusals...) {
		f.Add(strings.Replace(sound, r.old, r.new, 1))
	}
	for _, form := range forms() {
		f.Add(strings.Replace(sound, form.old, form.new, 1))
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
			for _, r := range slices.Concat(target.App.Place, target.App.AbortBy) {
				if _, err := r.CompileSave(); err != nil {
					t.Errorf("taken with bad rules: %v", err)
				}
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

// FuzzEvents: rules that are taken read any message without a panic, say of each
// event what they found or what was wrong, and find nothing empty.
func FuzzEvents(f *testing.F) {
	f.Add("body:$.order", "header:id", "", "", "orders.o1", "h", `{"order":"o1"}`)
	f.Add(`topic ~ ^orders\.(.+)$`, "body:$.id", "body:$.events", `body:$.type == a and header:id != "x"`, "orders.o1", "h", `{"events":[{"type":"a","id":1}]}`)
	f.Add("body", "key ~ (o.)", "body:$", "topic != t and body == o1", "o1", "", `["o1",{"a":"[1]"}]`)
	f.Fuzz(func(t *testing.T, order, id, each, when, topic, header, body string) {
		reader, err := EventRules{Order: order, ID: id, Each: each, When: when, Key: "key", Sequence: order}.Compile()
		if err != nil {
			return
		}
		for _, e := range reader.Events(Message{Topic: topic, Key: topic, Header: map[string][]string{"id": {header}}, Body: []byte(body)}) {
			whole := e.Order != "" && e.ID != "" && e.Key != "" && e.Sequence != ""
			switch {
			case e.Err == nil && (!whole || !e.Event):
				t.Errorf("read with nothing in it: %+v", e)
			case e.Err != nil && whole:
				t.Errorf("all is there and still: %v", e.Err)
			case e.Err != nil && len(e.Err.Error()) > 8*(len(order)+len(id)+len(each)+len(when)+1000):
				t.Errorf("an error of %d bytes", len(e.Err.Error()))
			}
		}
	})
}
