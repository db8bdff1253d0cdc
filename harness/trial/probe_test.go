package trial

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/targets"
)

// answering is a service that answers with each status in turn, and then with the last.
func answering(t *testing.T, body string, statuses ...int) (port string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1))
		w.Header().Set("Location", "/healthy")
		if r.URL.Path == "/healthy" {
			n = len(statuses)
		}
		w.WriteHeader(statuses[min(n, len(statuses))-1])
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, asked
}

// patient waits for a probe until it has seen something, or is up.
func patient(t *testing.T, p *probe) (up bool, seen string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	return p.await(ctx) == nil, p.seen()
}

func probing(t *testing.T, r targets.Ready, port string) *probe {
	t.Helper()
	p, err := newProbe(r, port)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReadyByHTTP(t *testing.T) {
	for _, c := range []struct {
		name     string
		statuses []int
		body     string
		up       bool
		seen     string
	}{
		{"at once", []int{200}, "", true, ""},
		{"any 2xx", []int{204}, "", true, ""},
		{"later", []int{503, 404, 200}, "", true, "status 404"},
		{"never", []int{503}, `{"status": "DOWN"}`, false, `status 503: "{\"status\": \"DOWN\"}"`},
		{"elsewhere", []int{302, 302, 302, 302, 302, 302, 302, 302, 302, 302, 302, 302, 302, 302, 302, 302, 200}, "", false, "status 302"},
		{"long", []int{500}, strings.Repeat("x", 1000), false, `status 500: "` + strings.Repeat("x", bodyShown) + `"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			port, asked := answering(t, c.body, c.statuses...)
			p := probing(t, targets.Ready{Get: "/health?deep=1"}, port)
			up, seen := patient(t, p)
			if up != c.up || seen != c.seen {
				t.Errorf("up: %v, seen %q; want %v, %q", up, seen, c.up, c.seen)
			}
			if c.up && int(asked.Load()) != len(c.statuses) {
				t.Errorf("asked %d times, want %d", asked.Load(), len(c.statuses))
			}
		})
	}
}

// free is a port on which nobody listens.
func free(t *testing.T) *port {
	t.Helper()
	port, err := NewPorts().take()
	if err != nil {
		t.Fatal(err)
	}
	if err := port.vacate(); err != nil {
		t.Fatal(err)
	}
	return port
}

func TestReadyByAPort(t *testing.T) {
	port := free(t)
	for _, r := range []targets.Ready{{Port: true}, {Get: "/"}} {
		if up, seen := patient(t, probing(t, r, port.String())); up || seen != "connection refused" {
			t.Errorf("%+v with nobody there: up: %v, seen %q", r, up, seen)
		}
	}
	l, err := net.Listen("tcp", loopback(port.number))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if up, _ := patient(t, probing(t, targets.Ready{Port: true}, port.String())); !up {
		t.Error("a port that takes connections is not up")
	}
	// Who takes a connection and says nothing is not up by HTTP.
	if up, _ := patient(t, probing(t, targets.Ready{Get: "/"}, port.String())); up {
		t.Error("up without an answer")
	}
}

// Each life is asked for its own line.
func TestReadyByALineOfTheLog(t *testing.T) {
	r := targets.Ready{Log: `^listening on \d+$`}
	for _, stream := range []string{"", " >&2"} {
		for _, c := range []struct {
			says string
			up   bool
		}{
			{"echo starting; echo listening on 80", true},
			{"echo not listening on 80", false},
		} {
			p := probing(t, r, "")
			process, err := proc.Start(t.Context(), proc.Spec{Name: "app.0", Argv: []string{"sh", "-c", "(" + c.says + ")" + stream + "; exec sleep 1000"}, Watch: p.line()})
			if err != nil {
				t.Fatal(err)
			}
			late := false
			ctx, cancel := context.WithCancel(t.Context())
			up := p.arrive(ctx, process, 500*time.Millisecond, func() { late = true; cancel() })
			cancel()
			if up != c.up || late == c.up {
				t.Errorf("%q%s: up: %v, late: %v", c.says, stream, up, late)
			}
			if err := process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A process that ends is not waited for any more.
func TestNobodyWaitsForTheDead(t *testing.T) {
	p := probing(t, targets.Ready{Log: "up"}, "")
	process, err := proc.Start(t.Context(), proc.Spec{Name: "app.0", Argv: []string{"sh", "-c", "exit 3"}, Watch: p.line()})
	if err != nil {
		t.Fatal(err)
	}
	if p.arrive(t.Context(), process, time.Hour, nil) {
		t.Error("it is up")
	}
}

func TestWhatIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		ready targets.Ready
		want  string
	}{
		{targets.Ready{Get: "/healthz"}, "a 2xx to GET /healthz on its port 80; last seen: connection refused"},
		{targets.Ready{Port: true}, "its port 80 to take connections; last seen: connection refused"},
		{targets.Ready{Log: "up"}, `a line of its log that matches "up"`},
	} {
		p := probing(t, c.ready, "80")
		if c.ready.Log == "" {
			p.last = "connection refused"
		}
		if got := waitedFor(p); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if p, err := newProbe(targets.Ready{}, "80"); p != nil || err != nil || p.line() != nil {
		t.Errorf("nothing to wait for: %v, %v", p, err)
	}
}
