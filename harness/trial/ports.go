package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Ports gives out loopback ports for the instances to listen on, no port to two
// at a time. The jobs of a run share one.
//
// A port is held by a listener until just before its instance starts, and then
// kept by its number alone: a listener of ours would be in the way of programs
// that do not set SO_REUSEADDR, and take connections that are theirs to refuse.
// Nothing holds it while the instance is on its way, which takes a JVM seconds in
// which we ourselves connect all the time. So it is drawn from below the range in
// which the system finds ports for connections and for listeners that want any:
// what listens there was told to, by its number.
type Ports struct {
	// low and high bound what is drawn from; there is nothing between them where
	// the system does not tell its range, or leaves too little below it. Then the
	// system chooses.
	low, high int

	mu    sync.Mutex
	given map[int]bool
}

const (
	// lowPort is above the numbers that most servers are known by.
	lowPort = 10240
	// roomLeast is how many numbers make it worth drawing one.
	roomLeast = 2048
	// draws is how many numbers are tried: on a machine with so many listeners
	// something is wrong.
	draws = 100
)

// NewPorts has given out no port.
func NewPorts() *Ports {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // on Linux alone
	if err != nil {
		text = nil
	}
	return newPorts(string(text))
}

func newPorts(systemRange string) *Ports {
	p := &Ports{low: lowPort, high: lowPort, given: map[int]bool{}}
	if fields := strings.Fields(systemRange); len(fields) == 2 {
		if first, err := strconv.Atoi(fields[0]); err == nil && first-lowPort >= roomLeast {
			p.high = first
		}
	}
	return p
}

// take draws a port. The caller gives it back.
func (p *Ports) take() (*port, error) {
	var last error
	for range draws {
		n := 0
		if p.high > p.low {
			n = p.low + rand.IntN(p.high-p.low)
		}
		held, err := net.Listen("tcp", loopback(n))
		if err != nil {
			last = err
			continue
		}
		n = held.Addr().(*net.TCPAddr).Port
		p.mu.Lock()
		given := p.given[n]
		p.given[n] = true
		p.mu.Unlock()
		if !given {
			return &port{number: n, of: p, held: held}, nil
		}
		_ = held.Close()
	}
	return nil, fmt.Errorf("find a free port on loopback, in %d tries: %w", draws, last)
}

// port is an instance's, through all its lives in a trial.
type port struct {
	number int
	of     *Ports

	mu   sync.Mutex
	held net.Listener // until the first life begins
}

// String is the number.
func (p *port) String() string { return strconv.Itoa(p.number) }

// vacate makes way for a life of the instance. The error is a *[PortError] when
// somebody else listens there.
func (p *port) vacate() error {
	p.mu.Lock()
	held := p.held
	p.held = nil
	p.mu.Unlock()
	if held != nil {
		if err := held.Close(); err != nil {
			return fmt.Errorf("make way on port %d: %w", p.number, err)
		}
		return nil
	}
	return p.stranger()
}

// stranger tells of whoever listens on the port while the instance has no
// process.
func (p *port) stranger() error {
	const patience = time.Second // a stranger may be slow; nobody there refuses at once
	conn, err := net.DialTimeout("tcp", loopback(p.number), patience)
	if err != nil {
		return nil
	}
	_ = conn.Close()
	return &PortError{Port: p.number}
}

// giveBack ends the use of the port.
func (p *port) giveBack() error {
	p.mu.Lock()
	held := p.held
	p.held = nil
	p.mu.Unlock()
	var err error
	if held != nil {
		err = held.Close()
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	delete(p.of.given, p.number)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("give back port %d: %w", p.number, err)
	}
	return nil
}

// PortError says that another program listens on the port of an instance: the
// machine's trouble, and no verdict on the target.
type PortError struct {
	Instance string
	Port     int
}

func (e *PortError) Error() string {
	return fmt.Sprintf("port %d, which was free when it was given to %s, is taken by something that is not %s: another program, or a child that it left behind; see what listens there (ss -ltnp)", e.Port, e.Instance, e.Instance)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
