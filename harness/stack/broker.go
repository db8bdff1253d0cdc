package stack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/faults/proc"
)

// NATS is the job's broker, a NATS server with JetStream.
type NATS struct {
	address *url.URL // with credentials
	version string
	guard   *proc.Guard
	log     *slog.Logger
	runID   string
	serial  atomic.Int64
	child   *natsChild // nil for a server given by URL

	mu     sync.Mutex
	conn   *nats.Conn
	js     jetstream.JetStream
	system *nats.Conn // nil for a server given by URL
}

// natsChild is the process of an own broker.
type natsChild struct {
	config natsConfig
	role   func(name string) (argv, env []string)
	log    string
	maxLog int64
	guard  *proc.Guard

	mu      sync.Mutex
	process *proc.Process
}

func startBroker(ctx context.Context, s *Stack) (*NATS, error) {
	o := s.options
	n := &NATS{guard: o.Guard, log: o.Log, runID: o.RunID}
	switch {
	case isURL(o.Broker):
		u, err := url.Parse(o.Broker)
		if err != nil {
			return nil, fmt.Errorf("read the broker's URL %s: write it as nats://user:password@host:port", redactURL(o.Broker))
		}
		if u.Port() == "" {
			u.Host += ":" + strconv.Itoa(nats.DefaultPort)
		}
		n.address = u
	case o.Broker == "" || o.Broker == Auto || o.Broker == Local:
		if err := n.startChild(ctx, s); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("broker %q is none of %s, %s and no URL", o.Broker, Auto, Local)
	}
	if err := n.connect(ctx); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *NATS) startChild(ctx context.Context, s *Stack) error {
	o := s.options
	if o.Role == nil {
		return errors.New("start an own broker: Options.Role does not say how")
	}
	store := filepath.Join(s.dir, "nats")
	if err := os.Mkdir(store, 0o700); err != nil {
		return fmt.Errorf("make the broker's folder: %w", err)
	}
	n.child = &natsChild{
		config: natsConfig{
			Store: store, User: superuser, Password: rand.Text(),
			SystemUser: superuser + "-system", SystemPassword: rand.Text(),
		},
		role: o.Role, log: filepath.Join(s.dir, "nats.log"), maxLog: o.MaxLog, guard: o.Guard,
	}
	ready, err := n.child.start(ctx)
	if err != nil {
		return err
	}
	n.address = &url.URL{
		Scheme: "nats", User: url.UserPassword(superuser, n.child.config.Password),
		Host: "127.0.0.1:" + strconv.Itoa(ready.Port),
	}
	return nil
}

// start starts the process, on its port or, the first time, on any.
func (c *natsChild) start(ctx context.Context) (natsReady, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	argv, env := c.role(NATSRole)
	p, err := proc.Start(ctx, proc.Spec{
		Name: "nats", Argv: argv, Env: append(os.Environ(), env...), Log: c.log, MaxLog: c.maxLog, Guard: c.guard,
		Secrets: []string{c.config.Password, c.config.SystemPassword}, Stdin: true, Stdout: true,
	})
	if err != nil {
		return natsReady{}, err
	}
	ready, err := c.talk(ctx, p)
	if err != nil {
		err = errors.Join(err, p.Kill())
		return natsReady{}, fmt.Errorf("start nats: %w: %s", err, lastLines(p.Tail()))
	}
	c.process = p
	c.config.Port = ready.Port
	return ready, nil
}

func (c *natsChild) talk(ctx context.Context, p *proc.Process) (ready natsReady, err error) {
	// A program that does not listen may have ended already: what it said tells more.
	told := json.NewEncoder(p.Stdin()).Encode(c.config)
	line, err := p.ReadLine(ctx)
	if err != nil {
		return ready, errors.Join(fmt.Errorf("wait until it listens: %w", err), told)
	}
	if err := json.Unmarshal([]byte(line.Text), &ready); err != nil {
		return ready, fmt.Errorf("it said %.80q instead of being ready: the program does not call stack.NATSMain", line.Text)
	}
	if told != nil {
		return ready, fmt.Errorf("tell it its configuration: %w", told)
	}
	if ready.Error != "" {
		return ready, errors.New(ready.Error)
	}
	return ready, nil
}

func (c *natsChild) running() *proc.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.process
}

// connect makes the harness's own connections, in place of earlier ones.
func (n *NATS) connect(ctx context.Context) error {
	conn, err := dial(ctx, n.address)
	if err != nil {
		return fmt.Errorf("connect to the broker at %s: %w", n.Addr(), err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return fmt.Errorf("use JetStream of the broker at %s: %w", n.Addr(), err)
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		conn.Close()
		return fmt.Errorf("the broker at %s has no JetStream for this user: %w", n.Addr(), err)
	}
	var system *nats.Conn
	if n.child != nil {
		address := *n.address
		address.User = url.UserPassword(n.child.config.SystemUser, n.child.config.SystemPassword)
		if system, err = dial(ctx, &address); err != nil {
			conn.Close()
			return fmt.Errorf("connect to the broker's system account at %s: %w", n.Addr(), err)
		}
	}
	n.disconnect()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conn, n.js, n.system = conn, js, system
	n.version = conn.ConnectedServerVersion()
	return nil
}

func dial(ctx context.Context, address *url.URL) (*nats.Conn, error) {
	options := []nats.Option{nats.Name(applicationName), nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond)}
	if deadline, ok := ctx.Deadline(); ok {
		options = append(options, nats.Timeout(max(time.Until(deadline), time.Millisecond)))
	}
	return nats.Connect(address.String(), options...)
}

func (n *NATS) disconnect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, conn := range []*nats.Conn{n.conn, n.system} {
		if conn != nil {
			conn.Close()
		}
	}
	n.conn, n.js, n.system = nil, nil, nil
}

func (n *NATS) links() (conn *nats.Conn, js jetstream.JetStream, system *nats.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.conn, n.js, n.system
}

// Addr is the server's own host:port.
func (n *NATS) Addr() string { return n.address.Host }

// Version is the server's version.
func (n *NATS) Version() string { return n.version }

// Own says whether the stack started the server, so that Kill and Restart work.
func (n *NATS) Own() bool { return n.child != nil }

// Credentials are the user and password of a client; for a token the user is the
// token.
func (n *NATS) Credentials() (user, password string) {
	password, _ = n.address.User.Password()
	return n.address.User.Username(), password
}

// URL is how to connect through the given host:port, or through the server's own
// when that is empty.
func (n *NATS) URL(addr string) string {
	u := *n.address
	if addr != "" {
		u.Host = addr
	}
	return u.String()
}

// Kill sends SIGKILL to an own server and returns when it is dead. The error
// wraps ErrNotOurs for a server given by URL.
func (n *NATS) Kill() error {
	if n.child == nil {
		return fmt.Errorf("kill the broker at %s: %w", n.Addr(), ErrNotOurs)
	}
	return n.child.running().Kill()
}

// Restart starts an own server again on its port and store, killing it first if
// it runs, and returns when it takes connections.
func (n *NATS) Restart(ctx context.Context) error {
	if err := n.Kill(); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	if _, err := n.child.start(ctx); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return n.connect(ctx)
}

// check says whether an own server runs.
func (n *NATS) check() error {
	if n.child == nil {
		return nil
	}
	if state := n.child.running().State(); state.Exited {
		return fmt.Errorf("nats %s: %s", state, lastLines(n.child.running().Tail()))
	}
	return nil
}

func (n *NATS) close() error {
	n.disconnect()
	if n.child == nil {
		return nil
	}
	// Its data goes too: there is nothing to be gained by asking.
	return n.child.running().Kill()
}
