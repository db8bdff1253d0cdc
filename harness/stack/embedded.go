package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// embeddedVersion is what is downloaded where no Postgres is installed.
const embeddedVersion = embeddedpostgres.V17

// rootCache is where root keeps the binaries unless XDG_CACHE_HOME says
// otherwise: its own cache folder is closed to the unprivileged user that a
// server runs as.
const rootCache = "/var/cache"

// embeddedBinaries downloads and unpacks Postgres binaries, once for all runs of
// a user, in the user's cache folder.
func embeddedBinaries(ctx context.Context, scratch string) (binaries, error) {
	cache, err := rootCache, error(nil)
	if os.Geteuid() != 0 || os.Getenv("XDG_CACHE_HOME") != "" {
		if cache, err = os.UserCacheDir(); err != nil {
			return binaries{}, fmt.Errorf("find the user's cache folder: %w", err)
		}
	}
	cache = filepath.Join(cache, "outboxtest", "postgres")
	unpacked := filepath.Join(cache, string(embeddedVersion))
	bin := filepath.Join(unpacked, "bin")
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err == nil {
		return binariesIn(ctx, bin)
	}
	fetched := make(chan error, 1)
	// The library's download knows no context. When ours ends we go on without
	// it: this goroutine owns nothing but the download, and ends with it.
	go func() { fetched <- fetch(cache, unpacked, scratch) }()
	select {
	case err = <-fetched:
	case <-ctx.Done():
		return binaries{}, fmt.Errorf("download PostgreSQL %s: %w", embeddedVersion, ctx.Err())
	}
	if err != nil {
		return binaries{}, fmt.Errorf("download PostgreSQL %s: %w", embeddedVersion, err)
	}
	return binariesIn(ctx, bin)
}

// fetch has the library download and unpack. It has no call for that alone, only
// one that then makes a cluster and starts it, under our user and by its own
// rules; so it is given a data folder that cannot be one, and stops there.
func fetch(cache, unpacked, scratch string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	file := filepath.Join(scratch, "no-folder")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	config := embeddedpostgres.DefaultConfig().Version(embeddedVersion).Port(uint32(port)).
		CachePath(cache).BinariesPath(unpacked).RuntimePath(filepath.Join(scratch, "embedded")).
		DataPath(filepath.Join(file, "data")).Logger(io.Discard)
	failed := embeddedpostgres.NewDatabase(config).Start()
	// The library's client keeps its connection open otherwise.
	http.DefaultClient.CloseIdleConnections()
	removeLibraryLogs()
	if _, err := os.Stat(filepath.Join(unpacked, "bin", "initdb")); err != nil {
		return errors.Join(failed, os.RemoveAll(unpacked))
	}
	return nil
}

// removeLibraryLogs removes the files that the library logs to, which it leaves
// behind, open, in the folder for temporary files: those that this process holds
// are found where there is a /proc.
func removeLibraryLogs() {
	const open = "/proc/self/fd"
	held, err := os.ReadDir(open)
	if err != nil {
		return
	}
	for _, fd := range held {
		path, err := os.Readlink(filepath.Join(open, fd.Name()))
		if err == nil && strings.HasPrefix(path, filepath.Join(os.TempDir(), "embedded_postgres_log")) {
			_ = os.Remove(path) // several jobs may be at it
		}
	}
}
