package harness

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
)

// maxJobs bounds the servers that one run starts.
const maxJobs = 64

// DefaultOut is the folder that takes everything a run leaves.
const DefaultOut = ".outboxtest"

// Options say how to run; the zero value sweeps with everything at its default.
type Options struct {
	// Jobs is the number of stacks that execute trials side by side; 0 means two
	// for each processor, because a trial waits more than it computes, and at
	// most eight; and 1 when Postgres or the broker is given by URL.
	Jobs int
	// Orders is the number of orders of a recorded run; 0 means 3.
	Orders int
	// Faults are the kinds of fault that are swept; nil means kill, cut and hold.
	Faults []faults.Kind
	// Points keeps the cells whose point contains this text.
	Points string
	// Depth says which second faults are swept: [DepthPublish] (the zero value),
	// [DepthSingle] or [DepthPairs]. Those after a broken publish are swept only
	// when Points is empty.
	Depth int
	// Budget is the time after which no new cell is begun, counted from the first
	// fault-free run; 0 means none. Exploring has a time of its own.
	Budget time.Duration
	// Chain is how many cells share a trial at most, one after another on the same
	// processes; 0 means 16. With 1 every cell has a trial of its own. Cells of a
	// run's first order always have.
	Chain int
	// Shard is the part of the cells, and of the random scenarios, that this run
	// takes; the zero value takes all.
	Shard Shard
	// Explore adds random scenarios for this long.
	Explore time.Duration
	// ExploreTrials ends exploring after so many trials; 0 means no bound.
	ExploreTrials int
	// Seed decides the random scenarios; 0 draws one, which the result tells.
	Seed uint64
	// SkipSweep leaves the cells out: only the fault-free runs, and Explore.
	SkipSweep bool
	// StopAtFirst ends the run at the first violation that every replay
	// reproduces.
	StopAtFirst bool
	// Replays is how often a violation's scenario is replayed before it is
	// reported; 0 means three times until one of the property has failed in all
	// of its replays, and once from then on.
	Replays int
	// Postgres is auto, local, embedded, or a postgres:// URL; empty means auto.
	Postgres string
	// PostgresBin is the folder with the Postgres binaries to use; empty searches
	// the PATH and the usual places.
	PostgresBin string
	// Broker is auto, local, or a nats:// URL; empty means auto.
	Broker string
	// Out is the folder for what the run leaves; empty means [DefaultOut].
	Out string
	// Progress, if set, is called now and then, from one goroutine at a time.
	Progress func(Progress)
	// Log takes what the harness does, for its own developers; nil discards.
	Log *slog.Logger

	everything bool
}

// Progress is how far a run has come.
type Progress struct {
	// Phase is what is being done: build, recording, sweep, recovery, explore.
	Phase string
	// Done and Total count trials; Total is 0 when it is not known.
	Done, Total int
	// Violations counts the different ones so far.
	Violations int
	// Undecided counts the trials so far that came to no verdict, of those that
	// the result rests on.
	Undecided int
}

// Result is everything that a run says; see [report.Result] for its parts.
type Result = report.Result

// withSeed draws the seed of a run that was given none.
func (o Options) withSeed() Options {
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>1 | 1
	}
	return o
}

func (o Options) withDefaults() (Options, error) {
	if o.Jobs < 0 || o.Orders < 0 || o.Replays < 0 || o.Explore < 0 || o.ExploreTrials < 0 {
		return o, &InputError{"jobs, orders, replays and explore are not negative"}
	}
	if o.Depth < DepthPublish || o.Depth > DepthPairs {
		return o, &InputError{fmt.Sprintf("--depth %d: 1 strikes once in a trial, 2 also during the recovery from every kind of fault, 0 only during that from a broken publish", o.Depth)}
	}
	if o.Chain < 0 {
		return o, &InputError{fmt.Sprintf("--chain %d: give the largest number of cells that may share a trial, from 1", o.Chain)}
	}
	if o.Budget < 0 {
		return o, &InputError{fmt.Sprintf("--budget %v: give a time that is not negative, such as 10m", o.Budget)}
	}
	if o.Shard != (Shard{}) {
		if err := checkShard(o.Shard); err != nil {
			return o, &InputError{"--shard " + err.Error()}
		}
	}
	if o.Jobs > maxJobs {
		return o, &InputError{fmt.Sprintf("--jobs %d: each job has a Postgres and a broker of its own; at most %d are started", o.Jobs, maxJobs)}
	}
	byURL := isURL(o.Postgres) || isURL(o.Broker)
	if o.Jobs == 0 {
		o.Jobs = min(2*runtime.NumCPU(), 8)
		if byURL {
			o.Jobs = 1
		}
	}
	if byURL && o.Jobs > 1 {
		return o, &InputError{fmt.Sprintf("--jobs %d needs as many servers: with --postgres or --broker by URL there is one job", o.Jobs)}
	}
	if o.Orders == 0 {
		o.Orders = 3
	}
	if o.Chain == 0 {
		o.Chain = chainLength
	}
	if o.Out == "" {
		o.Out = DefaultOut
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, k := range o.Faults {
		switch k {
		case faults.Kill, faults.Cut, faults.Hang, faults.Hold:
		default:
			return o, &InputError{fmt.Sprintf("fault %q cannot be swept: use kill, cut, hang or hold", k)}
		}
	}
	return o, nil
}

// InputError says that what was asked for makes no sense as it stands.
type InputError struct{ What string }

func (e *InputError) Error() string { return e.What }
