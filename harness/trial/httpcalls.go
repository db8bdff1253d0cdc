package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

const (
	// maxBody is how much of an answer is read, in bytes.
	maxBody = 1 << 20
	// lastWords is how long an answer may still be on its way when the process
	// that gave it is dead: somebody else may hold its connections open.
	lastWords = time.Second
)

// httpCalls is the conversation with one life of an app that is asked by HTTP, on
// its own port and past no proxy. A caller that gives up does not hang up: what
// the app does then is not to depend on who waits.
type httpCalls struct {
	web *web
	in  *instance

	ctx    context.Context // of every request; ends with the process
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func newHTTPCalls(w *web, in *instance) *httpCalls {
	c := &httpCalls{web: w, in: in}
	c.ctx, c.cancel = context.WithCancel(in.t.ctx)
	return c
}

// open connects: whoever is refused has sent nothing, and may try again.
func (c *httpCalls) open(ctx context.Context) (line, error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("port %s: %s", c.in.addresses.Port, reason(err))
	}
	return &httpLine{calls: c, conn: conn}, nil
}

func (c *httpCalls) dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", c.in.addresses.Port))
}

func (c *httpCalls) deaf() bool { return false }

func (c *httpCalls) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	late := time.AfterFunc(lastWords, c.cancel)
	defer late.Stop()
	c.running.Wait()
	c.cancel()
}

// httpLine is the way of one order's requests: its first connection, and others
// for what follows.
type httpLine struct {
	calls *httpCalls

	mu   sync.Mutex
	conn net.Conn // until it is used
}

func (l *httpLine) take() net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn := l.conn
	l.conn = nil
	return conn
}

func (l *httpLine) hangUp() {
	if conn := l.take(); conn != nil {
		_ = conn.Close() // nothing was said on it
	}
}

func (l *httpLine) ask(op string, o scenario.Order) <-chan answer {
	ch := make(chan answer, 1)
	c := l.calls
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		l.hangUp()
		close(ch)
		return ch
	}
	c.running.Go(func() {
		defer l.hangUp()
		ch <- l.run(op, o)
	})
	return ch
}

// run sends the requests of an operation, until one does not work.
func (l *httpLine) run(op string, o scenario.Order) answer {
	// A new connection for each: net/http then never sends a request again by
	// itself. Nothing is followed, because a 3xx is an answer.
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if conn := l.take(); conn != nil {
				return conn, nil
			}
			return l.calls.dial(ctx)
		},
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxBody,
	}
	defer transport.CloseIdleConnections()
	w := l.calls.web
	addresses := l.calls.in.addresses
	addresses.Order, addresses.Customer = o.Order, o.Customer
	addresses.Saved = w.saved(o.Customer)
	requests := w.requests(op)
	a := answer{outcome: properties.OK}
	for i, r := range requests {
		got, failed := l.send(transport, r, addresses)
		if failed != nil {
			if op == opIntroduce {
				failed.outcome = properties.Failed // the order was not asked for
			}
			return *failed
		}
		last := i == len(requests)-1
		if !r.accepts(got.status) {
			w.refused(o.Customer, got.status)
			return l.refusal(r, got, addresses)
		}
		saved, err := r.read.Read(got.header, got.body)
		if err != nil && (!last || op == opIntroduce) {
			return l.failed(answer{outcome: properties.Failed, why: fmt.Sprintf("the answer to %s with HTTP %d: %v", r.HTTP, got.status, err)},
				fmt.Sprintf("answered %s with HTTP %d: %v", r.HTTP, got.status, err), "correct the request's save")
		}
		for name, value := range saved {
			addresses.Saved[name] = value
		}
		a.accepted = last && op == opPlace && got.status == http.StatusAccepted
	}
	if op == opIntroduce {
		w.keep(o.Customer, addresses.Saved)
	}
	return a
}

// got is the answer to one request.
type got struct {
	status int
	header http.Header
	body   []byte
}

// send sends one request and reads its answer.
func (l *httpLine) send(transport *http.Transport, r webRequest, addresses targets.Addresses) (got, *answer) {
	unsent := func(err error) (got, *answer) {
		a := l.failed(answer{outcome: properties.Failed, why: fmt.Sprintf("%s cannot be sent: %v", r.HTTP, err)},
			fmt.Sprintf("cannot be sent %s: %v", r.HTTP, err), "correct the request")
		return got{}, &a
	}
	call, err := r.Expand(addresses)
	if err != nil {
		return unsent(err)
	}
	request, err := http.NewRequestWithContext(l.calls.ctx, call.Method, "http://"+net.JoinHostPort("127.0.0.1", addresses.Port)+call.Path, strings.NewReader(call.Body))
	if err != nil {
		return unsent(errors.New("its path is none of a URL"))
	}
	for name, value := range call.Headers {
		request.Header.Set(name, value)
		if strings.EqualFold(name, "Host") {
			request.Host = value
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return unsent(fmt.Errorf("the value of its header %s is not one line", name))
		}
	}
	response, err := transport.RoundTrip(request)
	if err == nil {
		defer func() { _ = response.Body.Close() }()
		var body []byte
		if body, err = io.ReadAll(io.LimitReader(response.Body, maxBody)); err == nil {
			return got{response.StatusCode, response.Header, body}, nil
		}
		err = fmt.Errorf("it broke off: %s", reason(err))
	}
	a := l.failed(unanswered(fmt.Sprintf("no answer to %s: %s", r.HTTP, reason(err))),
		fmt.Sprintf("gave no answer to %s: %s", r.HTTP, reason(err)), "")
	return got{}, &a
}

// refusal is the answer for a status that does not say that the request worked.
func (l *httpLine) refusal(r webRequest, g got, addresses targets.Addresses) answer {
	text := fmt.Sprintf("HTTP %d", g.status)
	if body := l.beginning(g.body, addresses); body != "" {
		text += ": " + body
	}
	return l.failed(answer{outcome: properties.Failed, why: text}, fmt.Sprintf("answered %s with %s", r.HTTP, text),
		fmt.Sprintf("a status that says that it worked is written into accepted, any 2xx without it; else correct what %s sends", r.HTTP))
}

// failed adds what the target is told where there is no fault.
func (l *httpLine) failed(a answer, what, mend string) answer {
	in := l.calls.in
	a.wrong = &TargetError{Stage: StageOrder, Instance: in.id.String(), What: what, Mend: mend, Log: in.tail()}
	return a
}

// beginning is that of an answer, on one line and without secrets.
func (l *httpLine) beginning(body []byte, addresses targets.Addresses) string {
	const most = 200
	text := strings.ToValidUTF8(string(body), "?")
	secrets := slices.Clone(l.calls.in.spec.Secrets)
	for _, value := range addresses.Saved {
		secrets = append(secrets, value)
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// reason is why a connection did not carry what it should, without its addresses.
func reason(err error) string {
	switch op, ok := errors.AsType[*net.OpError](err); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.Is(err, context.Canceled):
		return "the app's process died"
	case ok:
		return strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	return err.Error()
}
