package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/faults/proc"
)

// The kinds of undoing that a stack registers with the guard.
const (
	undoRemoveAll    = "remove-all"     // a path
	undoDropDatabase = "drop-database"  // a thing
	undoDropStream   = "drop-stream"    // a thing
	undoSegment      = "remove-segment" // the data folder of a Postgres cluster
)

// thing is something of ours on a server given by URL.
type thing struct {
	URL  string `json:"url"`
	Name string `json:"name"`
}

// Undo is the table for [proc.GuardMain] that undoes what stacks make, and
// remove-all with a path for anything else.
func Undo() map[string]proc.Undoer {
	return map[string]proc.Undoer{
		undoRemoveAll: func(_ context.Context, path string) error {
			if !filepath.IsAbs(path) || filepath.Clean(path) == string(filepath.Separator) {
				return fmt.Errorf("refuse to remove %q: not the absolute path of something below the root", path)
			}
			return os.RemoveAll(path)
		},
		undoDropDatabase: func(ctx context.Context, arg string) error {
			return onThing(arg, func(t thing) error {
				config, err := pgx.ParseConfig(t.URL)
				if err != nil {
					return fmt.Errorf("read the URL of the server of database %s", t.Name)
				}
				return dropDatabase(ctx, config, t.Name)
			})
		},
		undoDropStream: func(ctx context.Context, arg string) error {
			return onThing(arg, func(t thing) error { return dropStream(ctx, t.URL, t.Name) })
		},
		undoSegment: func(_ context.Context, data string) error { return removeSegment(data) },
	}
}

func onThing(arg string, do func(thing) error) error {
	var t thing
	if err := json.Unmarshal([]byte(arg), &t); err != nil {
		return fmt.Errorf("read what to undo: %w", err)
	}
	if !strings.HasPrefix(t.Name, namePrefix) {
		return fmt.Errorf("refuse to drop %q: it is not ours", t.Name)
	}
	return do(t)
}

// undo registers with the guard, if there is one.
func undo(g *proc.Guard, kind, arg string) (release func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	return g.Undo(kind, arg)
}

// undoThing registers something on a server given by URL.
func undoThing(g *proc.Guard, kind string, t thing) (release func(), err error) {
	arg, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("register %s for %s: %w", kind, t.Name, err)
	}
	return undo(g, kind, string(arg))
}

func dropStream(ctx context.Context, address, name string) error {
	nc, err := nats.Connect(address, nats.Name(applicationName))
	if err != nil {
		return fmt.Errorf("connect to %s to drop the stream %s: %w", redactURL(address), name, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("drop the stream %s: %w", name, err)
	}
	if err := js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("drop the stream %s: %w", name, err)
	}
	return nil
}
