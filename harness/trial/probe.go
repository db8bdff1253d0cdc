package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/outboxtest/outboxtest/targets"
)

const (
	// knockFirst and knockLast are the shortest and the longest time between two
	// looks at a port: each may cost the process under test a query.
	knockFirst = 10 * time.Millisecond
	knockLast  = 250 * time.Millisecond
	// knockPatience is how long one look waits for an answer.
	knockPatience = 5 * time.Second
	// bodyShown is how much of an answer is shown, in bytes.
	bodyShown = 200
)

// probe finds out whether one life of a process is up. It talks to the process
// itself, past the proxies: it is no traffic of the target.
type probe struct {
	ready   targets.Ready
	pattern *regexp.Regexp
	port    string
	matched chan struct{} // closed by the first line that matches
	once    sync.Once

	mu   sync.Mutex
	last string
}

// newProbe is nil where there is nothing to wait for.
func newProbe(r targets.Ready, port string) (*probe, error) {
	if r == (targets.Ready{}) {
		return nil, nil
	}
	p := &probe{ready: r, port: port, matched: make(chan struct{})}
	if r.Log != "" {
		pattern, err := regexp.Compile(r.Log)
		if err != nil {
			return nil, fmt.Errorf("ready.log: %w", err)
		}
		p.pattern = pattern
	}
	return p, nil
}

// line takes a line of the process's output; nil where none is waited for.
func (p *probe) line() func(string) {
	if p == nil || p.pattern == nil {
		return nil
	}
	return func(line string) {
		select {
		case <-p.matched:
		default:
			if p.pattern.MatchString(line) {
				p.once.Do(func() { close(p.matched) })
			}
		}
	}
}

// what is waited for.
func (p *probe) what() string {
	switch {
	case p.ready.Get != "":
		return fmt.Sprintf("a 2xx to GET %s on its port %s", p.ready.Get, p.port)
	case p.ready.Port:
		return fmt.Sprintf("its port %s to take connections", p.port)
	}
	return fmt.Sprintf("a line of its log that matches %q", p.ready.Log)
}

// seen is what was last seen; empty where that is the log.
func (p *probe) seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// await returns nil when the process is up, and else the error of the context.
func (p *probe) await(ctx context.Context) error {
	if p.pattern != nil {
		select {
		case <-p.matched:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	look := p.dial
	if p.ready.Get != "" {
		look = p.get
	}
	for wait := knockFirst; ; wait = min(2*wait, knockLast) {
		trying, cancel := context.WithTimeout(ctx, knockPatience)
		seen, up := look(trying)
		cancel()
		if up {
			return nil
		}
		if ctx.Err() == nil { // else it is our own end that was seen
			p.mu.Lock()
			p.last = seen
			p.mu.Unlock()
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func (p *probe) dial(ctx context.Context) (seen string, up bool) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", p.port))
	if err != nil {
		return refusal(err), false
	}
	_ = conn.Close()
	return "", true
}

func (p *probe) get(ctx context.Context) (seen string, up bool) {
	// No proxy of the environment, and no connection that outlives the request.
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a 3xx is no 2xx, wherever it leads
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort("127.0.0.1", p.port)+p.ready.Get, nil)
	if err != nil {
		return err.Error(), false
	}
	response, err := client.Do(request)
	if err != nil {
		return refusal(err), false
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(response.Body, bodyShown)) // what came of it is shown
	if response.StatusCode/100 == 2 {
		return "", true
	}
	seen = fmt.Sprintf("status %d", response.StatusCode)
	if text := strings.TrimSpace(strings.ToValidUTF8(string(body), "?")); text != "" {
		seen += fmt.Sprintf(": %q", text)
	}
	return seen, false
}

// refusal says why there was no answer, without the address.
func refusal(err error) string {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Sprintf("no answer within %v", knockPatience)
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	text := err.Error()
	return strings.TrimPrefix(text, "connect: ")
}
