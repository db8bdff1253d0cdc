package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/outboxtest/outboxtest/faults/proc"
)

const (
	// superuser is the one role of an own cluster.
	superuser = "outboxtest"
	// portTries is how often a port that somebody took first is replaced.
	portTries = 8
	// startPatience bounds a start; recovery after a kill is part of it.
	startPatience = 60 * time.Second
	// stopPatience bounds an orderly stop; then the server is killed.
	stopPatience = 5 * time.Second
)

// cluster is a Postgres of our own: its data, and its process while one runs.
type cluster struct {
	bin      binaries
	dir      string // ours: logs
	data     string // the server's user's
	password string
	user     *proc.Credential
	settings map[string]string
	maxLog   int64
	guard    *proc.Guard
	log      *slog.Logger
	release  func() // takes back the guard's order to remove the memory segment

	mu      sync.Mutex
	port    int
	process *proc.Process
}

// serverSettings are those of an own server. What is not named is at its default,
// synchronous_commit above all.
func serverSettings() map[string]string {
	return map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": "",
		// Logical decoding is for targets that read the log.
		"wal_level":                 "logical",
		"max_prepared_transactions": "20",
		"max_connections":           "200",
		// A crash of processes loses nothing that the kernel has taken, and
		// tears no page.
		"fsync":            "off",
		"full_page_writes": "off",
		"shared_buffers":   "32MB",
		"max_wal_size":     "256MB",
		"min_wal_size":     "32MB",
		// A trial's database lives for seconds: there is nothing to clean, and
		// a worker would hold back the xmin horizon at random moments.
		"autovacuum": "off",
		// Segments in the data folder go with it; others survive a kill -9.
		"dynamic_shared_memory_type": "mmap",
		"lc_messages":                "C",
		"log_timezone":               "UTC",
	}
}

// newCluster makes the data of a cluster. It is ready to be started.
func newCluster(ctx context.Context, c *cluster) (err error) {
	c.release = func() {}
	if c.user, err = serverUser(); err != nil {
		return err
	}
	c.data = filepath.Join(c.dir, "postgres")
	if err := os.MkdirAll(c.data, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	secret := filepath.Join(c.data, "..", "postgres-password")
	if err := os.WriteFile(secret, []byte(c.password+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the password for initdb: %w", err)
	}
	defer func() {
		if removed := os.Remove(secret); removed != nil {
			err = errors.Join(err, fmt.Errorf("remove the password for initdb: %w", removed))
		}
	}()
	if c.user != nil {
		if err := passable(c.dir); err != nil {
			return err
		}
		for _, path := range []string{c.data, secret} {
			if err := os.Chown(path, int(c.user.UID), int(c.user.GID)); err != nil {
				return fmt.Errorf("give %s to the server's user: %w", path, err)
			}
		}
	}
	// Before the server can make its segment of shared memory, which outlives a
	// kill -9 of it.
	if c.release, err = undo(c.guard, undoSegment, c.data); err != nil {
		return err
	}
	return c.initdb(ctx, secret)
}

// initdb runs to its end or is killed with the context.
func (c *cluster) initdb(ctx context.Context, secret string) error {
	// md5 is the cheapest method that wants the password and that every driver
	// knows; scram costs more than the rest of the connection.
	p, err := proc.Start(ctx, proc.Spec{
		Name: "initdb", Argv: []string{filepath.Join(c.bin.dir, "initdb"), "--pgdata", c.data,
			"--username", superuser, "--pwfile", secret, "--auth", "md5", "--encoding", "UTF8",
			"--locale", "C", "--no-sync"},
		Dir: c.data, Env: serverEnvironment(), Log: filepath.Join(c.dir, "initdb.log"), User: c.user, Guard: c.guard,
		Secrets: []string{c.password},
	})
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("run initdb: %w", ctx.Err()), p.Kill())
	}
	if state := p.State(); state.Code != 0 {
		return fmt.Errorf("initdb %s: %s", state, lastLines(p.Tail()))
	}
	return nil
}

// serverUser is the unprivileged user that a server runs as when we are root:
// Postgres refuses root.
func serverUser() (*proc.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return &proc.Credential{UID: uint32(uid), GID: uint32(gid)}, nil
	}
	return nil, errors.New("we are root, which Postgres refuses, and there is neither a user postgres nor nobody to run it as")
}

// passable says whether another user may pass to a folder.
func passable(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("look at the way to the data folder: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("the server's unprivileged user cannot pass through %s: use another folder, for one by setting TMPDIR", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// serverEnvironment is little, so that nothing of the user's (PGPORT,
// PGOPTIONS, a locale) reaches an own server.
func serverEnvironment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// start starts the server, on its port or, the first time, on a free one, and
// returns when it takes connections.
func (c *cluster) start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil && !c.process.State().Exited {
		return errors.New("start postgres: it is running")
	}
	if c.port != 0 {
		_, err := c.startOn(ctx, c.port)
		return err
	}
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		taken, err := c.startOn(ctx, port)
		if err == nil {
			c.port = port
			return nil
		}
		if !taken || try == portTries {
			return err
		}
		c.log.Debug("somebody took the port of postgres, trying another", "port", port)
	}
}

// startOn says besides whether somebody else has the port.
func (c *cluster) startOn(ctx context.Context, port int) (taken bool, err error) {
	argv := []string{filepath.Join(c.bin.dir, "postgres"), "-D", c.data, "-p", strconv.Itoa(port)}
	settings := serverSettings()
	maps.Copy(settings, c.settings)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		argv = append(argv, "-c", name+"="+settings[name])
	}
	p, err := proc.Start(ctx, proc.Spec{
		Name: "postgres", Argv: argv, Dir: c.data, Env: serverEnvironment(), Log: c.logFile(), MaxLog: c.maxLog,
		User: c.user, Guard: c.guard, Secrets: []string{c.password},
		// Its backends are in sessions of their own, without their environment.
		Tree: true,
	})
	if err != nil {
		return false, err
	}
	if err := c.awaitReady(ctx, p); err != nil {
		err = errors.Join(err, p.Kill())
		said := p.Tail()
		return strings.Contains(said, "could not bind") || strings.Contains(said, "could not create any TCP/IP sockets"),
			fmt.Errorf("%w: %s", err, lastLines(said))
	}
	c.process = p
	return false, nil
}

// awaitReady reads the status that Postgres keeps in the eighth line of
// postmaster.pid (src/include/utils/pidfile.h). The first line tells whether the
// file is of this process or left by one that was killed.
func (c *cluster) awaitReady(ctx context.Context, p *proc.Process) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(filepath.Join(c.data, "postmaster.pid")); err == nil {
			lines := bytes.Split(text, []byte("\n"))
			if len(lines) >= 8 && string(lines[0]) == strconv.Itoa(p.Pid()) && string(bytes.TrimSpace(lines[7])) == "ready" {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-p.Done():
			return fmt.Errorf("start postgres: it %s", p.State())
		case <-ctx.Done():
			return fmt.Errorf("start postgres: it does not get ready: %w", ctx.Err())
		}
	}
}

func (c *cluster) logFile() string { return filepath.Join(c.dir, "postgres.log") }

func (c *cluster) addr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port))
}

func (c *cluster) running() *proc.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.process
}

// stop ends the server for good: an immediate stop, because its data goes too,
// but by its own hand, because a killed one leaves its segment of shared memory.
func (c *cluster) stop() error {
	p := c.running()
	var errs []error
	if p != nil {
		if err := p.Signal(syscall.SIGQUIT); err == nil {
			timer := time.NewTimer(stopPatience)
			defer timer.Stop()
			select {
			case <-p.Done():
			case <-timer.C:
			}
		}
		errs = append(errs, p.Kill())
	}
	if err := removeSegment(c.data); err != nil {
		errs = append(errs, err)
	} else {
		c.release()
	}
	return errors.Join(errs...)
}

// freePort is a port of the loopback that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return port, nil
}

// lastLines is the end of an output, for an error.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-6):], "\n")
}
