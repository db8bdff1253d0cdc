package wire

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/outboxtest/outboxtest/faults"
)

// Options are what a board tells, and to whom. The three callbacks are called
// under the board's lock, in one total order: they must neither block nor call
// the board.
type Options struct {
	// Observe gets everything that happens on the links.
	Observe func(Observation)
	// Fired gets each fault as it fires, when the links of a kill's instance
	// are frozen and, for the moment after, what passed is in the socket. After
	// a kill the trial kills the process from a goroutine of its own, waits for
	// it, and calls Sever: once for each kill that fired.
	Fired func(Firing)
	// Released gets each hold whose until has passed.
	Released func(Firing)
	// Began is what Observation.At counts from; zero means New.
	Began time.Time
	// Log gets details for debugging; nil means none.
	Log *slog.Logger
}

// Board is the switchboard of one trial: everything that passes on its links
// passes under one lock, in one total order. It is safe for concurrent use.
type Board struct {
	options Options
	log     *slog.Logger
	server  *toxiproxy.ApiServer
	setup   sync.Mutex     // held by Link and Close, around the lives of proxies
	pipes   sync.WaitGroup // the pipes of all connections
	timers  sync.WaitGroup // the faults on the clock

	mu        sync.Mutex // guards all that follows, and every link and connection
	closed    bool
	started   bool
	conns     int
	activity  uint64
	waiters   chan struct{}
	links     map[faults.Link]*link
	instances map[faults.Instance]*instance
	roles     map[faults.Link]*scope // by link with the index Any
	backends  map[faults.Server][]uint64
	faults    []*armed
	watches   map[string][]*watch   // by label
	withholds map[string][]withhold // by label
}

// New returns a board without links. The caller closes it.
func New(o Options) *Board {
	if o.Began.IsZero() {
		o.Began = time.Now()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError}))
	}
	return &Board{
		options: o,
		log:     o.Log,
		// No listener and no metrics: the server is only what proxies hang on.
		server:    toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		links:     make(map[faults.Link]*link),
		instances: make(map[faults.Instance]*instance),
		roles:     make(map[faults.Link]*scope),
		backends:  make(map[faults.Server][]uint64),
		watches:   make(map[string][]*watch),
		withholds: make(map[string][]withhold),
	}
}

// Arm takes the faults of the trial, once, before there is any traffic. A
// fault that cannot be done as written is refused with every reason.
func (b *Board) Arm(fs []faults.Fault) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) > 0 {
		return errors.New("arm: this board has its faults already")
	}
	var errs []error
	for i, f := range fs {
		if err := refuse(f); err != nil {
			errs = append(errs, fmt.Errorf("fault %d (%s): %w", i, f, err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for i, f := range fs {
		b.arm(i, f, func(faults.Point) int { return 0 })
	}
	return nil
}

// Close drops what is kept, closes every connection on both sides, lingering
// ones too, stops the proxies, and waits until nothing of the board runs. What
// it drops and closes is observed; no fault fires any more. Closing twice is
// harmless.
//
// The goroutines that Toxiproxy itself has for a connection end with its
// sockets, which are closed when Close returns.
func (b *Board) Close() error {
	b.setup.Lock()
	defer b.setup.Unlock()
	b.mu.Lock()
	b.closed = true
	var links []*link
	for _, l := range b.links {
		links = append(links, l)
		for c := range l.conns {
			c.linger = false
			c.die()
			// Also for those that were dead already: nothing is handed over any more.
			c.up.rouse()
			c.down.rouse()
		}
	}
	for _, f := range b.faults {
		if f.timer != nil && f.timer.Stop() {
			b.timers.Done()
		}
		f.timer = nil
	}
	b.changed()
	b.mu.Unlock()

	b.timers.Wait()
	for _, l := range links {
		l.proxy.Stop()
	}
	b.pipes.Wait()
	return nil
}
