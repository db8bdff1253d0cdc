package search

import (
	"context"
	"fmt"

	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// Oracle reports whether a scenario fails as the one that is shrunk does: it
// executes it, as often as it takes to be sure. An error ends the shrinking.
type Oracle func(ctx context.Context, s scenario.Scenario) (fails bool, err error)

// ShrinkOptions bound a shrinking and tell it what is known.
type ShrinkOptions struct {
	// Calls is the largest number of calls of the oracle; 0 means 200.
	Calls int
	// History is that of a failing trial of the scenario: it tells which
	// exchange was nearest to a time on the clock. Without it such a time stays.
	History []properties.Event
}

// Shrunk is what came of a shrinking.
type Shrunk struct {
	// Scenario is the smallest that the oracle found failing, or the one that
	// was given.
	Scenario scenario.Scenario
	// Calls counts the calls of the oracle.
	Calls int
	// Complete: no simpler scenario that is known to the search fails. It is
	// false when the bound, or an error, ended the search before.
	Complete bool
}

// Shrink simplifies a failing scenario as far as it still fails: fewer faults,
// points on the wire in place of times, earlier occurrences, fewer orders, no
// overlap, one replica, the plain pace, restart and kind, nothing dropped. It
// takes the first simpler scenario that fails, in an order that depends on the
// scenario and the history alone, until there is none; tokens keep their names.
// The scenario itself is taken to fail and is not tried. With an error the
// result holds what was reached.
//
// All of it is our own knowledge and nothing is left to rapid, whose shrinking
// has no door but Check: that one panics outside of go test unless the flags of
// package testing were parsed, takes its seed and its time from flags of the
// process, ends by the clock, and writes a file.
func Shrink(ctx context.Context, s scenario.Scenario, fails Oracle, o ShrinkOptions) (Shrunk, error) {
	if o.Calls == 0 {
		o.Calls = 200
	}
	k := &shrinker{fails: fails, bound: o.Calls, tried: map[string]bool{}, out: Shrunk{Scenario: s}}
	if _, err := k.fresh(s); err != nil {
		return k.out, err
	}
	for changed := true; changed; {
		changed = false
		for _, simpler := range simplifications(o.History) {
			for {
				found, err := k.step(ctx, simpler(k.out.Scenario))
				if err != nil || k.spent {
					return k.out, err
				}
				if !found {
					break
				}
				changed = true
			}
		}
	}
	k.out.Complete = true
	return k.out, nil
}

type shrinker struct {
	fails Oracle
	bound int
	spent bool            // the bound kept a scenario from being tried
	tried map[string]bool // by the text of the file
	out   Shrunk
}

// step takes the first of the candidates that fails.
func (k *shrinker) step(ctx context.Context, candidates []scenario.Scenario) (found bool, err error) {
	for _, s := range candidates {
		fresh, err := k.fresh(s)
		if err != nil {
			return false, err
		}
		if !fresh || s.Validate() != nil {
			continue
		}
		if k.out.Calls == k.bound {
			k.spent = true
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("shrink a scenario: %w", context.Cause(ctx))
		}
		k.out.Calls++
		fails, err := k.fails(ctx, s)
		if err != nil {
			return false, fmt.Errorf("shrink a scenario: try a simpler one: %w", err)
		}
		if fails {
			k.out.Scenario = s
			return true, nil
		}
	}
	return false, nil
}

// fresh reports whether the scenario has not been tried, and notes it.
func (k *shrinker) fresh(s scenario.Scenario) (bool, error) {
	text, err := scenario.Format(s)
	if err != nil {
		return false, fmt.Errorf("shrink a scenario: %w", err)
	}
	if k.tried[string(text)] {
		return false, nil
	}
	k.tried[string(text)] = true
	return true, nil
}
