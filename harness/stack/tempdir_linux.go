package stack

import (
	"os"

	"golang.org/x/sys/unix"
)

// memoryDir is where Linux has a file system in memory, open to everyone.
const memoryDir = "/dev/shm"

// memoryLeast is the room, in bytes, that makes it worth using: a cluster with
// a handful of databases is 150 MB. Containers get 64 MB by default.
const memoryLeast = 1 << 30

// TempDir is the best place for the folder of a stack: the one that TMPDIR names,
// else a file system in memory, where making a database is many times cheaper
// than on most disks, else the system's folder for temporary files. What a
// crash of a process leaves is the same on all of them.
func TempDir() string {
	if os.Getenv("TMPDIR") != "" {
		return os.TempDir()
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(memoryDir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return os.TempDir()
	}
	if uint64(fs.Bsize)*fs.Bavail < memoryLeast || unix.Access(memoryDir, unix.W_OK|unix.X_OK) != nil {
		return os.TempDir()
	}
	return memoryDir
}
