package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// leastPostgres is the oldest major version that can drop a database by force.
const leastPostgres = 13

// binaries is a folder with a Postgres of a known version.
type binaries struct {
	dir     string
	version string // as postgres --version says it: 15.4
	major   int
}

// usualPlaces are the folders of distributions and installers that do not put
// the server's binaries on the PATH.
func usualPlaces() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/local/pgsql/bin",
		"/usr/libexec/postgresql*",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

// findBinaries looks on the path first, then in the places, the newest version
// first.
func findBinaries(ctx context.Context, path string, places []string) (binaries, error) {
	var why []error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil {
			continue
		}
		found, err := binariesIn(ctx, dir)
		if err == nil {
			return found, nil
		}
		why = append(why, err)
	}
	var all []binaries
	for _, place := range places {
		dirs, err := filepath.Glob(filepath.Join(place, "postgres"))
		if err != nil {
			return binaries{}, fmt.Errorf("look into %s: %w", place, err)
		}
		for _, program := range dirs {
			found, err := binariesIn(ctx, filepath.Dir(program))
			if err != nil {
				why = append(why, err)
				continue
			}
			all = append(all, found)
		}
	}
	if len(all) == 0 {
		return binaries{}, cmp.Or(errors.Join(why...), errors.New("no postgres on the PATH or in the usual places"))
	}
	return slices.MaxFunc(all, func(a, b binaries) int { return cmp.Compare(a.major, b.major) }), nil
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) ((\d+)\S*)`)

func binariesIn(ctx context.Context, dir string) (binaries, error) {
	// Links lead to the folder with everything: initdb looks for postgres beside it.
	program, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return binaries{}, fmt.Errorf("%s: %w", dir, err)
	}
	dir = filepath.Dir(program)
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return binaries{}, fmt.Errorf("%s has postgres but no initdb: install the whole server package", dir)
	}
	said, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("ask %s for its version: %w", program, err)
	}
	match := versionPattern.FindSubmatch(said)
	if match == nil {
		return binaries{}, fmt.Errorf("%s calls itself %.60q, not a PostgreSQL", program, said)
	}
	major, err := strconv.Atoi(string(match[2]))
	if err != nil || major < leastPostgres {
		return binaries{}, fmt.Errorf("%s is PostgreSQL %s: version %d or newer is needed", program, match[1], leastPostgres)
	}
	return binaries{dir: dir, version: string(match[1]), major: major}, nil
}
