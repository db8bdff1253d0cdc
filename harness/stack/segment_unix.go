//go:build linux || darwin

package stack

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// removeSegment removes the System V shared memory that a killed cluster left
// as its interlock. Its number is the second of the seventh line of
// postmaster.pid (src/include/utils/pidfile.h), which a cluster that stopped in
// order removes. Only a segment that nobody is attached to is removed.
func removeSegment(data string) error {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the shared memory of the cluster: %w", err)
	}
	lines := bytes.Split(text, []byte("\n"))
	if len(lines) < 7 {
		return nil // killed before it made one
	}
	fields := bytes.Fields(lines[6])
	if len(fields) != 2 {
		return nil
	}
	id, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return fmt.Errorf("read the number of the cluster's shared memory: %w", err)
	}
	var segment unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &segment); err != nil {
		return nil // gone already, which is all we want
	}
	if segment.Nattch != 0 {
		return fmt.Errorf("the cluster's shared memory %d is still in use", id)
	}
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("remove the cluster's shared memory %d: %w", id, err)
	}
	return nil
}
