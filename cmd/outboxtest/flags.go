package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/harness"
)

// flags are those that several commands share; they mean the same everywhere.
type flags struct {
	jobs                  int
	postgres, broker, out string
	postgresBin           string
	json                  string
	verbose               bool
}

// servers adds the flags of the commands that run trials.
func (f *flags) servers(cmd *cobra.Command) {
	set := cmd.Flags()
	set.IntVar(&f.jobs, "jobs", 0, "run `N` trials side by side, from 1, each on servers of its own (default: two a processor, at most 8; 1 with servers by URL)")
	set.StringVar(&f.postgres, "postgres", "auto", "`WHERE` PostgreSQL comes from: auto, local, embedded (downloaded once), or a postgres:// URL")
	set.StringVar(&f.postgresBin, "postgres-bin", "", "use the PostgreSQL binaries in `DIR` (default: those on the PATH, then the newest in the usual places)")
	set.StringVar(&f.broker, "broker", "auto", "`WHERE` the broker comes from: auto, local, or a nats:// URL")
	set.StringVar(&f.out, "out", harness.DefaultOut, "put what the run leaves (scenarios, histories, logs) into `DIR`")
	set.BoolVar(&f.verbose, "verbose", false, "log what the harness does, on standard error")
}

func (f *flags) machine(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.json, "json", "", "write the result as JSON to `FILE`; - is standard output, and the text goes to standard error")
}

// options checks the flags and makes options of them.
func (f *flags) options(a *app, cmd *cobra.Command) (harness.Options, error) {
	if f.jobs < 0 || f.jobs == 0 && cmd.Flags().Changed("jobs") {
		return harness.Options{}, badInput("--jobs %d: give a number from 1, or leave it out for two a processor", f.jobs)
	}
	if err := where("--postgres", f.postgres, []string{"auto", "local", "embedded"}, []string{"postgres", "postgresql"}); err != nil {
		return harness.Options{}, err
	}
	if err := where("--broker", f.broker, []string{"auto", "local"}, []string{"nats"}); err != nil {
		return harness.Options{}, err
	}
	if strings.Contains(f.postgres, "://") {
		if _, err := pgx.ParseConfig(f.postgres); err != nil {
			return harness.Options{}, badInput("--postgres: the URL cannot be read: write postgres://USER:PASSWORD@HOST:PORT/DATABASE")
		}
	}
	bin := ""
	if f.postgresBin != "" {
		if f.postgres != "auto" && f.postgres != "local" {
			return harness.Options{}, badInput("--postgres-bin chooses a server to start, and --postgres has one already: leave one of them out")
		}
		var err error
		if bin, err = filepath.Abs(f.postgresBin); err != nil {
			return harness.Options{}, fmt.Errorf("--postgres-bin: %w", err)
		}
	}
	if f.out == "" {
		return harness.Options{}, badInput("--out needs a folder, such as --out %s", harness.DefaultOut)
	}
	if err := canTake(f.out); err != nil {
		return harness.Options{}, badInput("--out %s: %w; name another folder", f.out, err)
	}
	return harness.Options{Jobs: f.jobs, Postgres: f.postgres, PostgresBin: bin, Broker: f.broker, Out: f.out, Log: a.logger(f.verbose)}, nil
}

// The bounds of counts. What is beyond them is a slip of the hand.
const (
	mostOrders  = 1000
	mostReplays = 1000
	mostTimes   = 10000

	whyOrders = "each order adds cells to the sweep, and three show what more would"
	whyTimes  = "each is a trial of its own, of a second or so"
)

// within checks a count.
func within(flag string, value, from, most int, why string) error {
	switch {
	case value < from:
		return badInput("%s %d: give a number from %d", flag, value, from)
	case value > most:
		return badInput("%s %d: at most %d: %s", flag, value, most, why)
	}
	return nil
}

// where checks a flag that says where a server comes from. The error does not
// repeat a URL, which may hold a password.
func where(flag, value string, words, schemes []string) error {
	if slices.Contains(words, value) {
		return nil
	}
	mend := "use " + strings.Join(words, ", ") + " or a URL that begins with " + schemes[0] + "://"
	if !strings.Contains(value, "://") {
		return badInput("%s %q is no place to get a server from: %s", flag, value, mend)
	}
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return badInput("%s: the URL cannot be read: %s", flag, mend)
	case !slices.Contains(schemes, u.Scheme):
		return badInput("%s: the URL begins with %s://: %s", flag, u.Scheme, mend)
	case u.Host == "":
		return badInput("%s: the URL names no host: write %s://HOST:PORT", flag, schemes[0])
	}
	return nil
}

// canTake tries whether a folder can be made, or written to if it is there, and
// leaves nothing: a violation found after a long run must not be lost for want
// of a place.
func canTake(dir string) error {
	there, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for {
		info, err := os.Stat(there)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a file", there)
		}
		if err == nil {
			break
		}
		parent := filepath.Dir(there)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) || parent == there {
			return err
		}
		there = parent
	}
	probe, err := os.MkdirTemp(there, ".outboxtest-")
	if err != nil {
		return fmt.Errorf("nothing can be written to %s: %w", there, errors.Unwrap(err))
	}
	return os.Remove(probe)
}
