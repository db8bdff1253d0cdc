package trial

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// shop is an app by HTTP that answers as a test says and remembers what it
// was asked.
type shop struct {
	answer func(w http.ResponseWriter, r *http.Request, asked string)

	mu    sync.Mutex
	asked []string
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	asked := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Authorization"), body))
	s.mu.Lock()
	s.asked = append(s.asked, asked)
	s.mu.Unlock()
	s.answer(w, r, asked)
}

func status(code int, body string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// raw sends bytes and closes.
func raw(text string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

// asking is a conversation with the shop.
func asking(t *testing.T, s *shop, app targets.App) *httpCalls {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	w, err := newWeb(app)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := newHTTPCalls(w, &instance{
		id: faults.Instance{Role: "app"}, t: &trial{ctx: t.Context()}, spec: proc.Spec{Secrets: []string{"s3cret"}},
		addresses: targets.Addresses{Port: port, Instance: "app.0"},
	})
	t.Cleanup(c.close)
	return c
}

func (c *httpCalls) must(t *testing.T, op, order string) answer {
	t.Helper()
	l, err := c.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return <-l.ask(op, scenario.Order{Order: order, Customer: "c1"})
}

var plain = targets.Request{HTTP: "POST /orders/{{.Order}}", Body: `{"id":"{{.UUID}}"}`}

func TestHTTPOutcomes(t *testing.T) {
	asked := "POST /orders/o1  " + `{"id":"` + targets.UUID("o1") + `"}`
	first := plain
	first.Save = map[string]string{"token": "body:$.token"}
	second := targets.Request{HTTP: "POST /confirm/{{.Saved.token}}"}
	tests := []struct {
		name     string
		app      targets.App
		op       string
		answer   func(http.ResponseWriter, *http.Request, string)
		outcome  properties.Outcome
		accepted bool
		why      string
		asked    []string // nil: the order's request alone
	}{
		{name: "created", answer: status(201, ""), outcome: properties.OK},
		{name: "accepted to be committed later", answer: status(202, ""), outcome: properties.OK, accepted: true},
		{name: "202 is not among the accepted", answer: status(202, ""), outcome: properties.Failed, why: "HTTP 202",
			app: targets.App{Place: []targets.Request{{HTTP: plain.HTTP, Body: plain.Body, Accepted: []int{201}}}}},
		{name: "refused", answer: status(503, "no\n  room for s3cret"), outcome: properties.Failed, why: "HTTP 503: no room for ***"},
		{name: "refused at length", answer: status(500, strings.Repeat("x", 500)), outcome: properties.Failed, why: "HTTP 500: " + strings.Repeat("x", 200) + "..."},
		{name: "sent elsewhere", answer: func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "/other", http.StatusFound)
		},
			outcome: properties.Failed, why: "HTTP 302"},
		{name: "closed without an answer", answer: raw(""), outcome: properties.Unknown, why: "no answer to POST /orders/{{.Order}}: the connection was closed"},
		{name: "no HTTP", answer: raw("pardon?\n"), outcome: properties.Unknown, why: "malformed HTTP"},
		{name: "broken off", answer: raw("HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nhalf"), outcome: properties.Unknown, why: "broke off"},
		{name: "endless", answer: status(201, strings.Repeat("x", 2*maxBody)), outcome: properties.OK},
		{name: "aborted", op: opAbort, answer: status(409, ""), outcome: properties.OK},
		{name: "abort not as it should be", op: opAbort, answer: status(201, "done"), outcome: properties.Failed, why: "HTTP 201: done",
			app: targets.App{Place: []targets.Request{plain}, AbortBy: []targets.Request{{HTTP: plain.HTTP, Body: plain.Body, Accepted: []int{409}}}}},
		{name: "in two requests", app: targets.App{Place: []targets.Request{first, second}}, answer: status(202, `{"token":"t1"}`),
			outcome: properties.OK, accepted: true, asked: []string{asked, "POST /confirm/t1"}},
		{name: "nothing to save", app: targets.App{Place: []targets.Request{first, second}}, answer: status(201, `{}`),
			outcome: properties.Failed, why: "no token: looked for body:$.token"},
		{name: "the first of two refused", app: targets.App{Place: []targets.Request{first, second}}, answer: status(500, ``),
			outcome: properties.Failed, why: "HTTP 500"},
		{name: "a header of two lines", app: targets.App{Place: []targets.Request{first, {HTTP: "POST /confirm", Headers: map[string]string{"X": "{{.Saved.token}}"}}}},
			answer: status(201, `{"token":"t\n1"}`), outcome: properties.Failed, why: "its header X is not one line"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.app.Place == nil {
				test.app = targets.App{Place: []targets.Request{plain}, AbortBy: []targets.Request{plain}}
			}
			if test.op == "" {
				test.op = opPlace
			}
			s := &shop{answer: test.answer}
			a := asking(t, s, test.app).must(t, test.op, "o1")
			if a.outcome != test.outcome || a.accepted != test.accepted || !strings.Contains(a.why, test.why) || (test.why == "") != (a.why == "") {
				t.Errorf("%s, accepted %v: %q; want %s, %v: %q", a.outcome, a.accepted, a.why, test.outcome, test.accepted, test.why)
			}
			if (a.outcome == properties.OK) != (a.wrong == nil) {
				t.Errorf("without a fault the target is told %v", a.wrong)
			}
			if test.asked == nil {
				test.asked = []string{asked}
			}
			if !slices.Equal(s.asked, test.asked) {
				t.Errorf("it was asked %q, want %q", s.asked, test.asked)
			}
		})
	}
}

// TestRefusalTellsTheRequest: a person sees what was sent and what came back.
func TestRefusalTellsTheRequest(t *testing.T) {
	a := asking(t, &shop{answer: status(422, "quantity is missing")}, targets.App{Place: []targets.Request{plain}}).must(t, opPlace, "o1")
	const want = "app.0 answered POST /orders/{{.Order}} with HTTP 422: quantity is missing; a status that says that it worked is written into accepted"
	if a.wrong == nil || !strings.HasPrefix(a.wrong.Error(), want) {
		t.Errorf("got  %v\nwant %s...", a.wrong, want)
	}
}

// TestCustomersAreIntroducedOnce: and again after a failure, or when the app does
// not know them any more.
func TestCustomersAreIntroducedOnce(t *testing.T) {
	login := targets.Request{HTTP: "POST /login", Body: `{"name":"{{.Customer}}"}`, Once: "customer", Save: map[string]string{"token": "header:X-Token"}}
	order := targets.Request{HTTP: "POST /orders/{{.Order}}", Headers: map[string]string{"Authorization": "Bearer {{.Saved.token}}"}}
	app := targets.App{Place: []targets.Request{login, order}, AbortBy: []targets.Request{order}}
	loginWorks, orderStatus := false, 201
	s := &shop{answer: func(w http.ResponseWriter, r *http.Request, _ string) {
		switch {
		case r.URL.Path != "/login":
			w.WriteHeader(orderStatus)
			_, _ = io.WriteString(w, "Bearer secret-token")
		case !loginWorks:
			w.WriteHeader(500)
		default:
			w.Header().Set("X-Token", "secret-token")
		}
	}}
	c := asking(t, s, app)
	introduce := func(want properties.Outcome, stranger bool) {
		t.Helper()
		if !c.web.stranger("c1") {
			t.Error("the customer is known already")
		}
		if a := c.must(t, opIntroduce, "o1"); a.outcome != want || a.accepted {
			t.Errorf("the introduction is %s: %s", a.outcome, a.why)
		}
		if c.web.stranger("c1") != stranger {
			t.Errorf("after it the customer is a stranger: %v", !stranger)
		}
	}
	introduce(properties.Failed, true)
	loginWorks = true
	introduce(properties.OK, false)
	for _, op := range []string{opPlace, opAbort, opPlace} {
		if a := c.must(t, op, "o2"); a.outcome != properties.OK {
			t.Errorf("%s is %s: %s", op, a.outcome, a.why)
		}
	}
	orderStatus = 401
	if a := c.must(t, opPlace, "o3"); a.outcome != properties.Failed || a.why != "HTTP 401: Bearer ***" {
		t.Errorf("%s: %s", a.outcome, a.why)
	}
	introduce(properties.OK, false)
	const in, by = `POST /login  {"name":"c1"}`, " Bearer secret-token"
	want := []string{in, in, "POST /orders/o2" + by, "POST /orders/o2" + by, "POST /orders/o2" + by, "POST /orders/o3" + by, in}
	if !slices.Equal(s.asked, want) {
		t.Errorf("it was asked\n%q, want\n%q", s.asked, want)
	}
	// A login that is cut off is no order in doubt.
	s.answer = raw("")
	if a := c.must(t, opIntroduce, "o4"); a.outcome != properties.Failed {
		t.Errorf("a login without an answer is %s", a.outcome)
	}
}

// TestTheDeadAnswerNoMore: an answer under way may still come, and nothing is
// asked any more.
func TestTheDeadAnswerNoMore(t *testing.T) {
	hold := make(chan struct{})
	heard := make(chan struct{})
	s := &shop{answer: func(http.ResponseWriter, *http.Request, string) {
		close(heard)
		<-hold
	}}
	c := asking(t, s, targets.App{Place: []targets.Request{plain}})
	defer close(hold)
	l, err := c.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late, err := c.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	waiting := l.ask(opPlace, scenario.Order{Order: "o1"})
	<-heard
	c.close()
	if a := <-waiting; a.outcome != properties.Unknown || !strings.Contains(a.why, "the app's process died") {
		t.Errorf("%s: %s", a.outcome, a.why)
	}
	if _, alive := <-late.ask(opPlace, scenario.Order{Order: "o2"}); alive || len(s.asked) != 1 {
		t.Errorf("it was asked %q after its death", s.asked)
	}
}

// TestNobodyListens: nothing was sent, so that it can be tried again.
func TestNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	c := asking(t, &shop{}, targets.App{Place: []targets.Request{plain}})
	c.in.addresses.Port = port
	if _, err := c.open(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}
