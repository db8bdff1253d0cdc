package targets

import (
	"reflect"
	"strings"
	"testing"
)

func TestExpandRequest(t *testing.T) {
	a := sample()
	a.Order, a.Customer, a.Saved = "o1", "c1", map[string]string{"token": "t1"}
	r := Request{
		HTTP: "POST /orders/{{ .Order }}?to={{.Topic}}", Body: `{"id":"{{.UUID}}"}`,
		Headers: map[string]string{"Authorization": "Bearer {{.Saved.token}}"},
	}
	want := Call{
		Method: "POST", Path: "/orders/o1?to=t1.orders", Body: `{"id":"` + UUID("o1") + `"}`,
		Headers: map[string]string{"Authorization": "Bearer t1", "Content-Type": "application/json"},
	}
	if got, err := r.Expand(a); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	r.Headers["content-type"] = "text/plain"
	if got, err := r.Expand(a); err != nil || len(got.Headers) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := (Request{HTTP: "GET /"}).Expand(a); err != nil || len(got.Headers) != 0 {
		t.Errorf("a request without a body: got %+v, %v", got, err)
	}
	a.Saved = nil
	if _, err := r.Expand(a); err == nil || !strings.HasPrefix(err.Error(), "headers.Authorization: ") {
		t.Errorf("nothing was saved: %v", err)
	}
}

func TestAccepts(t *testing.T) {
	app := App{AbortBy: []Request{{}, {}}}
	strict := App{AbortBy: []Request{{Accepted: []int{409}}}}
	for status, want := range map[int]struct{ plain, listed, first, last, strict bool }{
		200: {plain: true, first: true, last: true},
		202: {plain: true, listed: true, first: true, last: true},
		304: {last: true},
		409: {listed: true, last: true, strict: true},
		500: {last: true},
	} {
		got := struct{ plain, listed, first, last, strict bool }{
			Request{}.Accepts(status), Request{Accepted: []int{202, 409}}.Accepts(status),
			app.AbortAccepts(0, status), app.AbortAccepts(1, status), strict.AbortAccepts(0, status),
		}
		if got != want {
			t.Errorf("%d: got %+v", status, got)
		}
	}
}

func TestSave(t *testing.T) {
	r := Request{Save: map[string]string{"token": "body:$.token", "at": `header:location ~ /orders/(\d+)`, "all": "body"}}
	reader, err := r.CompileSave()
	if err != nil {
		t.Fatal(err)
	}
	body := `{"token":"t1"}`
	got, err := reader.Read(map[string][]string{"Location": {"http://127.0.0.1/orders/17"}}, []byte(body))
	if want := map[string]string{"token": "t1", "at": "17", "all": body}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	got, err = reader.Read(nil, []byte(`{"error":"no"}`))
	want := `no at: looked for header:location ~ /orders/(\d+), there are no headers: not there
no token: looked for body:$.token, the keys of the body are "error": not there`
	if errorText(err) != want || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = Request{Save: map[string]string{"a": "topic", "b": "body:token"}}.CompileSave()
	want = `save.a: an answer has no topic; write header:NAME or body:$.path
save.b: "body:token": "token" does not begin with $; write $ and then .name, [0] or ["a name"]`
	if errorText(err) != want {
		t.Errorf("got %v", err)
	}
}

// TestNamesAreThere: what a check takes for known can be expanded.
func TestNamesAreThere(t *testing.T) {
	a := Addresses{Saved: map[string]string{"one": "x"}}
	files := Process{Files: map[string]string{"a": ""}}
	for _, n := range []names{databaseNames(), processNames(Process{}), processNames(files), statementNames(), requestNames([]string{"one"})} {
		for _, name := range n.list {
			if _, err := Expand("{{"+name+"}}", a); err != nil {
				t.Error(err)
			}
			if _, err := expand("{{"+name+"}}", n.sample); err != nil {
				t.Error(err)
			}
		}
	}
}
