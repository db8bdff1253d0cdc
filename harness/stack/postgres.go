package stack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/faults/proc"
)

// namePrefix begins the name of everything we make on a server.
const namePrefix = "outboxtest_"

// Postgres is the job's Postgres server.
type Postgres struct {
	config  *pgx.ConnConfig // to the administrative database
	url     string          // the same as a URL, for the guard
	version string
	major   int
	cluster *cluster // nil for a server given by URL
	guard   *proc.Guard
	log     *slog.Logger
	runID   string
	serial  atomic.Int64

	watch   *admin // looks at activity
	make    *admin // creates databases
	drop    *admin // drops them
	dropper *dropper

	mu       sync.Mutex
	template *template
}

func startPostgres(ctx context.Context, s *Stack) (*Postgres, error) {
	o := s.options
	p := &Postgres{guard: o.Guard, log: o.Log, runID: o.RunID}
	var err error
	if isURL(o.Postgres) {
		err = p.connectTo(o.Postgres)
	} else {
		err = p.startOwn(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	p.watch, p.make, p.drop = &admin{config: p.config}, &admin{config: p.config}, &admin{config: p.config}
	p.dropper = newDropper(p)
	if err := p.greet(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// connectTo prepares for a server given by URL.
func (p *Postgres) connectTo(address string) error {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return fmt.Errorf("read the Postgres URL %s: write it as postgres://user:password@host:port/database", redactURL(address))
	}
	if strings.HasPrefix(config.Host, "/") {
		return fmt.Errorf("the Postgres URL %s leads to a Unix socket: the proxies need a host and a port", redactURL(address))
	}
	if config.Database == "" {
		config.Database = "postgres"
	}
	p.config, p.url = own(config), address
	return nil
}

// startOwn makes a cluster and starts it.
func (p *Postgres) startOwn(ctx context.Context, s *Stack) error {
	o := s.options
	bin, err := pickBinaries(ctx, s)
	if err != nil {
		return err
	}
	c := &cluster{
		bin: bin, dir: s.dir, password: rand.Text(), settings: o.PostgresSettings, maxLog: o.MaxLog,
		guard: o.Guard, log: o.Log,
	}
	if err := newCluster(ctx, c); err != nil {
		return fmt.Errorf("make a Postgres cluster with %s: %w", bin.dir, err)
	}
	if err := c.start(ctx); err != nil {
		return errors.Join(err, c.stop())
	}
	p.cluster = c
	address := &url.URL{Scheme: "postgres", User: url.UserPassword(superuser, c.password), Host: c.addr(), Path: "postgres", RawQuery: "sslmode=disable"}
	config, err := pgx.ParseConfig(address.String())
	if err != nil {
		return errors.Join(fmt.Errorf("read our own URL: %w", err), c.stop())
	}
	p.config, p.url = own(config), address.String()
	return nil
}

// own marks a connection as the harness's own.
func own(config *pgx.ConnConfig) *pgx.ConnConfig {
	config.RuntimeParams["application_name"] = applicationName
	return config
}

// pickBinaries follows Options.Postgres.
func pickBinaries(ctx context.Context, s *Stack) (binaries, error) {
	o := s.options
	var tried []Attempt
	way := o.Postgres
	if way == "" {
		way = Auto
	}
	if way != Auto && way != Local && way != Embedded {
		return binaries{}, fmt.Errorf("postgres %q is none of %s, %s, %s and no URL", way, Auto, Local, Embedded)
	}
	if way == Auto || way == Local {
		var found binaries
		var err error
		if o.PostgresBin != "" {
			// Who names a folder wants no other.
			found, err = binariesIn(ctx, o.PostgresBin)
			way = Local
		} else {
			found, err = findBinaries(ctx, os.Getenv("PATH"), usualPlaces())
		}
		if err == nil {
			return found, nil
		}
		tried = append(tried, Attempt{"binaries of this machine", err})
	}
	if way == Auto || way == Embedded {
		found, err := embeddedBinaries(ctx, s.dir)
		if err == nil {
			return found, nil
		}
		tried = append(tried, Attempt{"binaries by download", err})
	}
	return binaries{}, &MissingError{What: "Postgres", Tried: tried,
		Mend: "install PostgreSQL 13 or newer (the package is called postgresql on Debian, Ubuntu and with Homebrew, " +
			"postgresql-server on Fedora), or give a server with --postgres URL"}
}

// greet makes the first connection.
func (p *Postgres) greet(ctx context.Context) error {
	err := p.watch.do(ctx, func(conn *pgx.Conn) error {
		var number int
		if err := conn.QueryRow(ctx, "SELECT current_setting('server_version'), current_setting('server_version_num')::int").
			Scan(&p.version, &number); err != nil {
			return err
		}
		p.major = number / 10000
		return nil
	})
	if err != nil {
		return fmt.Errorf("connect to Postgres: %w", err)
	}
	if p.major < leastPostgres {
		return fmt.Errorf("the Postgres at %s is version %s: %d or newer is needed", p.Addr(), p.version, leastPostgres)
	}
	return nil
}

// Addr is the server's own host:port.
func (p *Postgres) Addr() string {
	return net.JoinHostPort(p.config.Host, strconv.Itoa(int(p.config.Port)))
}

// Version is the server's version, as 15.4.
func (p *Postgres) Version() string { return p.version }

// Credentials are the user and password of every database.
func (p *Postgres) Credentials() (user, password string) { return p.config.User, p.config.Password }

// Own says whether the stack started the server, so that Kill and Restart work.
func (p *Postgres) Own() bool { return p.cluster != nil }

// Log is the path of an own server's log; empty for one given by URL.
func (p *Postgres) Log() string {
	if p.cluster == nil {
		return ""
	}
	return p.cluster.logFile()
}

// Kill sends SIGKILL to an own server with all its backends and returns when
// they are dead. The error wraps ErrNotOurs for a server given by URL.
func (p *Postgres) Kill() error {
	if p.cluster == nil {
		return fmt.Errorf("kill Postgres at %s: %w", p.Addr(), ErrNotOurs)
	}
	return p.cluster.running().Kill()
}

// Restart starts an own server again on its port and data, killing it first if
// it runs, and returns when it takes connections: after recovery.
func (p *Postgres) Restart(ctx context.Context) error {
	if err := p.Kill(); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	if err := p.cluster.start(ctx); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return nil
}

// check says whether an own server runs.
func (p *Postgres) check() error {
	if p.cluster == nil {
		return nil
	}
	if state := p.cluster.running().State(); state.Exited {
		return fmt.Errorf("postgres %s: %s", state, lastLines(p.cluster.running().Tail()))
	}
	return nil
}

// name is a name that nobody else has on this server.
func (p *Postgres) name() string {
	return namePrefix + p.runID + "_" + strconv.FormatInt(p.serial.Add(1), 10)
}

// close drops what is not dropped yet, where the data does not go anyway, and
// ends an own server.
func (p *Postgres) close() error {
	var errs []error
	p.mu.Lock()
	old := p.template
	p.template = nil
	p.mu.Unlock()
	if old != nil {
		errs = append(errs, old.close(p.cluster == nil))
	}
	errs = append(errs, p.dropper.close(p.cluster == nil))
	for _, a := range []*admin{p.watch, p.make, p.drop} {
		a.close()
	}
	if p.cluster != nil {
		errs = append(errs, p.cluster.stop())
	}
	return errors.Join(errs...)
}
