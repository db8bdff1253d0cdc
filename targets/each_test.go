package targets

import (
	"reflect"
	"testing"
)

func reader(t *testing.T, r EventRules) *EventReader {
	t.Helper()
	compiled, err := r.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestEach(t *testing.T) {
	type read struct {
		fields EventFields
		wrong  string
	}
	event := func(order, id, sequence string) read {
		return read{fields: EventFields{Order: order, ID: id, Key: "k", Sequence: sequence, Event: true}}
	}
	rules := EventRules{
		Each: "body:$.events", Order: "body:$.order", ID: "body:$.id", Key: "key", Sequence: "body:$.no",
		When: `header:Kind != heartbeat and body:$.type == placed`,
	}
	for name, c := range map[string]struct {
		each, kind, body string
		want             []read
	}{
		"two of three": {
			body: `{"events":[{"type":"placed","order":"o1","id":1,"no":10},{"type":"paid"},{"type":"placed","order":"o2","id":2,"no":11}]}`,
			want: []read{event("o1", "1", "10"), event("o2", "2", "11")},
		},
		"none":                     {body: `{"events":[]}`},
		"another kind of message":  {kind: "heartbeat", body: `tick`},
		"an array for a body":      {each: "body:$", body: `[{"type":"placed","order":"o1","id":1,"no":1}]`, want: []read{event("o1", "1", "1")}},
		"a text that holds it all": {body: `{"events":"[{\"type\":\"placed\",\"order\":\"o1\",\"id\":1,\"no\":1}]"}`, want: []read{event("o1", "1", "1")}},
		"one that cannot be read": {
			body: `{"events":[{"type":"placed","order":"o1","id":1,"no":1},{"type":"placed","id":2,"no":2}]}`,
			want: []read{event("o1", "1", "1"), {
				fields: EventFields{ID: "2", Key: "k", Sequence: "2", Event: true},
				wrong:  `event 2 of 2: no order: looked for body:$.order, the keys of the body are "id", "no", "type": not there`,
			}},
		},
		"no array": {body: `{"events":{}}`, want: []read{
			{wrong: "which are its events: looked for body:$.events, $.events is an object, and an array is wanted"}}},
		"no events": {body: `{"event":[]}`, want: []read{
			{wrong: `which are its events: looked for body:$.events, the keys of the body are "event": not there`}}},
		"no JSON": {body: `tick`, want: []read{
			{wrong: `which are its events: looked for body:$.events, the body is not JSON: it begins "tick"`}}},
	} {
		t.Run(name, func(t *testing.T) {
			rules := rules
			if c.each != "" {
				rules.Each = c.each
			}
			var got []read
			for _, e := range reader(t, rules).Events(Message{Topic: "t", Key: "k", Header: map[string][]string{"Kind": {c.kind}}, Body: []byte(c.body)}) {
				got = append(got, read{e.EventFields, errorText(e.Err)})
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestEachElementIsTheBody(t *testing.T) {
	readings := reader(t, EventRules{Each: "body:$", Order: "body", ID: "topic"}).Events(Message{Topic: "t", Body: []byte(`["o1", {"b":1.50,"a":null}, ""]`)})
	if len(readings) != 3 || readings[0].Order != "o1" || readings[1].Order != `{"a":null,"b":1.50}` || readings[2].Err == nil {
		t.Errorf("got %+v", readings)
	}
}

func TestReadWantsOneEvent(t *testing.T) {
	r := reader(t, EventRules{Each: "body:$", Order: "body", ID: "subject"})
	if fields, err := r.Read("s", nil, []byte(`["o1"]`)); err != nil || fields.Order != "o1" {
		t.Errorf("one: %+v, %v", fields, err)
	}
	if fields, err := r.Read("s", nil, []byte(`[]`)); err != nil || fields.Event {
		t.Errorf("none: %+v, %v", fields, err)
	}
	if fields, err := r.Read("s", nil, []byte(`["o1","o2"]`)); err == nil || fields.Event {
		t.Errorf("two: %+v, %v", fields, err)
	}
}

func TestPatterns(t *testing.T) {
	m := Message{Topic: "orders.o1.placed", Key: "17", Header: map[string][]string{"Set-Cookie": {"a=1", "session=s1; Path=/"}}, Body: []byte(`{"ref":"web-o1","a ~ b":"x","in":"{\"order\":[1]}"}`)}
	for rule, want := range map[string]string{
		`subject ~ ^orders\.(.+)\.placed$`:    "o1",
		`topic ~ orders\.(\w+)`:               "o1",
		`key`:                                 "17",
		`body:$.ref ~ web-(.*)`:               "o1",
		`body:$["a ~ b"]`:                     "x",
		`body:$["a ~ b"] ~ (?:y|(x))`:         "x",
		`header:Set-Cookie ~ session=([^;]+)`: "s1",
		`body:$.in.order[0]`:                  "1",
		`body ~ "ref":"([^"]+)"`:              "web-o1",
	} {
		got := reader(t, EventRules{Order: rule, ID: "topic"}).Events(m)
		if len(got) != 1 || got[0].Order != want || got[0].Err != nil {
			t.Errorf("%s: got %+v", rule, got)
		}
	}
	got := reader(t, EventRules{Order: `topic ~ paid\.(.*)`, ID: "topic"}).Events(m)
	if want := `no order: looked for topic ~ paid\.(.*), it is "orders.o1.placed": not there`; errorText(got[0].Err) != want {
		t.Errorf("got  %v\nwant %s", got[0].Err, want)
	}
	if none := reader(t, EventRules{Order: "key", ID: "topic"}).Events(Message{Topic: "t"}); none[0].Err == nil {
		t.Errorf("a message without a key has the key %q", none[0].Order)
	}
}

func TestConditions(t *testing.T) {
	m := Message{Topic: "t", Header: map[string][]string{"Kind": {"salt and pepper"}}, Body: []byte(`{"type":"a","n":1,"x == y":"b and c","q":"d and body:$.e"}`)}
	for when, want := range map[string]bool{
		"body:$.type != b":                                    true,
		"body:$.type!=a":                                      false,
		"body:$.none != a":                                    true,
		"body:$.none == a":                                    false,
		"body:$.type == a and body:$.n == 1":                  true,
		"body:$.type == a and body:$.n != 1":                  false,
		"body:$.type == a and topic==t and header:Kind != x":  true,
		"header:Kind == salt and pepper":                      true,
		"header:Kind == salt and pepper and body:$.n == 1":    true,
		"header:Kind == salt and pepper and body:$.n == 2":    false,
		`body:$["x == y"] == b and c`:                         true,
		`body:$.q == "d and body:$.e" and body:$.type == "a"`: true,
		"body:$.type == b != c":                               false,
		"body:$.none != b == c":                               true,
	} {
		got := reader(t, EventRules{Order: "topic", ID: "topic", When: when}).Events(m)
		if (len(got) == 1) != want {
			t.Errorf("%s: got %+v", when, got)
		}
	}
	// A condition that says no spares a body that cannot be read, and only then.
	tick := Message{Topic: "t", Body: []byte("tick")}
	if got := reader(t, EventRules{Order: "topic", ID: "topic", When: "topic != t and body:$.type == a"}).Events(tick); got != nil {
		t.Errorf("got %+v", got)
	}
	if got := reader(t, EventRules{Order: "topic", ID: "topic", When: "topic == t and body:$.type != a"}).Events(tick); len(got) != 1 || got[0].Err == nil || got[0].Event {
		t.Errorf("got %+v", got)
	}
}
