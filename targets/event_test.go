package targets

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	header := map[string][]string{"Event-Id": {"e1", "e2"}, "x-kind": {"OrderPlaced"}, "empty": {""}}
	body := `{"order":{"ref":"o1","no":12345678901234567890,"part":1.50,"paid":true,"none":null,"lines":[{"sku":"s1"}],"a.b":"dotted","":"nameless"},"type":"OrderPlaced","blank":""}`
	for _, c := range []struct {
		order string
		want  string
		wrong string
	}{
		{order: "body:$.order.ref", want: "o1"},
		{order: "body:$.order.no", want: "12345678901234567890"},
		{order: "body:$.order.part", want: "1.50"},
		{order: "body:$.order.paid", want: "true"},
		{order: "body:$.order.lines[0].sku", want: "s1"},
		{order: `body:$.order["a.b"]`, want: "dotted"},
		{order: `body:$["order"][""]`, want: "nameless"},
		{order: "header:Event-Id", want: "e1"},
		{order: "header:event-ID", want: "e1"},
		{order: "key", want: "orders.o1"},
		{order: "subject", want: "orders.o1"},
		{order: "body", want: body},
		{order: "body:$.ref", wrong: `no order: looked for body:$.ref, the keys of the body are "blank", "order", "type": not there`},
		{order: "body:$.order.reff", wrong: `no order: looked for body:$.order.reff, the keys of $.order are "", "a.b", "lines", "no", "none", "paid", "part", "ref": not there`},
		{order: "body:$.order.lines[1]", wrong: `no order: looked for body:$.order.lines[1], $.order.lines has 1 elements: not there`},
		{order: "body:$.order.lines.sku", wrong: `no order: looked for body:$.order.lines.sku, $.order.lines is an array: not there`},
		{order: "body:$.order[0]", wrong: `no order: looked for body:$.order[0], $.order is an object and has no index: not there`},
		{order: "body:$.type.name", wrong: `no order: looked for body:$.type.name, $.type is a string: not there`},
		{order: "body:$.order.none", wrong: `no order: looked for body:$.order.none, $.order.none is null: not there`},
		{order: "body:$.order", wrong: `no order: looked for body:$.order, $.order is an object: not there`},
		{order: "body:$", wrong: `no order: looked for body:$, the body is an object: not there`},
		{order: "body:$.blank", wrong: `no order: looked for body:$.blank, $.blank is an empty string: not there`},
		{order: "header:order", wrong: `no order: looked for header:order, the headers are "Event-Id", "empty", "x-kind": not there`},
		{order: "header:empty", wrong: `no order: looked for header:empty, the header is empty: not there`},
	} {
		t.Run(c.order, func(t *testing.T) {
			reader, err := EventRules{Order: c.order, ID: "header:Event-Id", Key: "key"}.Compile()
			if err != nil {
				t.Fatal(err)
			}
			got, err := reader.Read("orders.o1", header, []byte(body))
			if want := (EventFields{Order: c.want, ID: "e1", Key: "orders.o1", Event: true}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if text := errorText(err); text != c.wrong {
				t.Errorf("got error  %s\nwant error %s", text, c.wrong)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestReadOtherBodies(t *testing.T) {
	reader, err := EventRules{Order: "body:$.order", ID: "body:$.id"}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		"":             "no order: looked for body:$.order, the body is empty\nno id: looked for body:$.id, the body is empty",
		"{}":           "no order: looked for body:$.order, the body is an empty object: not there\nno id: looked for body:$.id, the body is an empty object: not there",
		"\x00\x01o1":   `no order: looked for body:$.order, the body is not JSON: it begins "\x00\x01o1"` + "\n" + `no id: looked for body:$.id, the body is not JSON: it begins "\x00\x01o1"`,
		`{} {}`:        `no order: looked for body:$.order, the body is more than one JSON document: it begins "{} {}"` + "\n" + `no id: looked for body:$.id, the body is more than one JSON document: it begins "{} {}"`,
		`"o1"`:         "no order: looked for body:$.order, the body is a string: not there\nno id: looked for body:$.id, the body is a string: not there",
		`{"order":"o"`: `no order: looked for body:$.order, the body is not JSON: it begins "{\"order\":\"o\""` + "\n" + `no id: looked for body:$.id, the body is not JSON: it begins "{\"order\":\"o\""`,
	} {
		fields, err := reader.Read("s", nil, []byte(body))
		if got := errorText(err); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", body, got, want)
		}
		if !fields.Event || fields.Order != "" {
			t.Errorf("%q: got %+v", body, fields)
		}
	}
	half, err := reader.Read("s", nil, []byte(`{"order":"o1"}`))
	if half.Order != "o1" || err == nil || !strings.HasPrefix(err.Error(), "no id: ") {
		t.Errorf("what was found is not returned beside the error: %+v, %v", half, err)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	reader, err := EventRules{Order: "body:$.order", ID: "header:id"}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	header := map[string][]string{}
	for i := range 1000 {
		header[strings.Repeat("h", 1000+i)] = []string{"v"}
	}
	for _, body := range []string{strings.Repeat("x", 1<<20), `{"` + strings.Repeat("k", 1<<20) + `":1}`} {
		if _, err := reader.Read("s", header, []byte(body)); err == nil || len(err.Error()) > 1000 {
			t.Errorf("the error has %d bytes", len(errorText(err)))
		}
	}
}

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		when, body string
		event      bool
		wrong      string
	}{
		{when: "body:$.type == OrderPlaced", body: `{"type":"OrderPlaced"}`, event: true},
		{when: "body:$.type==OrderPlaced", body: `{"type":"OrderPlaced"}`, event: true},
		{when: `body:$.type == "order placed"`, body: `{"type":"order placed"}`, event: true},
		{when: "body:$.version == 2", body: `{"version":2}`, event: true},
		{when: "header:Kind == placed", body: `{}`, event: true},
		{when: "subject == s", body: `{}`, event: true},
		{when: "body:$.type == OrderPlaced", body: `{"type":"OrderPaid"}`},
		{when: "body:$.type == OrderPlaced", body: `{"order":"o1"}`},
		{when: "header:type == placed", body: `{}`},
		{when: "body:$.type == OrderPlaced", body: `heartbeat`, wrong: `is it an event: looked for body:$.type, the body is not JSON: it begins "heartbeat"`},
	} {
		reader, err := EventRules{Order: "subject", ID: "subject", When: c.when}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		fields, err := reader.Read("s", map[string][]string{"kind": {"placed"}}, []byte(c.body))
		if fields.Event != c.event || errorText(err) != c.wrong {
			t.Errorf("%s on %s: got %+v, %v", c.when, c.body, fields, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	_, err := EventRules{Order: "boddy", ID: "header:", Key: "body:$[", When: `subject == "x`}.Compile()
	want := `event.order: "boddy" is no field rule; write header:NAME, body:$.path, body (the whole body), key, subject or topic; or one of them, " ~ " and a REGEXP with one group
event.id: "header:" names no header; write header:NAME, body:$.path, body (the whole body), key, subject or topic; or one of them, " ~ " and a REGEXP with one group
event.key: "body:$[": "$[" has "" for an index; write $ and then .name, [0] or ["a name"]
event.when: "subject == \"x": the quotes do not close; write RULE == VALUE or RULE != VALUE, such as body:$.type == OrderPlaced, and " and " between several`
	if got := errorText(err); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, path := range []string{"", "order", "$order", "$.", "$..a", "$.a[", "$.a[-1]", "$.a[+1]", "$.a[99999999999]", `$["a`, `$["a"`, "$[*]", "$.*", "$[0]x", "$.a b"} {
		if p, err := compilePath(path); err == nil {
			t.Errorf("%q was taken, as %s", path, p)
		}
	}
}
