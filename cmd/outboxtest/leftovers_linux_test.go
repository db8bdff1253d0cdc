package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// leftovers is what a run has made on this machine at one moment: all of it has
// to go with the run.
type leftovers struct {
	// processes map the number to the start time and the command.
	processes map[int]string
	ports     []string
	folders   []string
	segments  []string
}

// lookAt takes down what belongs to a run: the descendants of its process, and
// whoever has the variable in its environment, wherever it went.
func lookAt(t *testing.T, root int, mark string) leftovers {
	t.Helper()
	l := leftovers{processes: map[int]string{}}
	parents := map[int]int{}
	for _, pid := range everyProcess(t) {
		if parent, ok := parentOf(pid); ok {
			parents[pid] = parent
		}
	}
	sockets := map[string]bool{}
	runFolder := regexp.MustCompile(`^/.*/outboxtest-[^/]+`)
	for pid := range parents {
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		ours := bytes.Contains(environment, []byte(mark))
		for at := pid; at > 1 && !ours; at = parents[at] {
			ours = at == root
		}
		identity := identityOf(pid)
		if !ours || identity == "" {
			continue
		}
		l.processes[pid] = identity
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			to, err := os.Readlink(file)
			if err == nil && strings.HasPrefix(to, "socket:[") {
				sockets[strings.Trim(to, "socket:[]")] = true
			}
			// The logs of the roles are in the run's folder.
			if in := runFolder.FindString(to); in != "" && !slices.Contains(l.folders, in) {
				l.folders = append(l.folders, in)
			}
		}
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		words := strings.Split(string(command), "\x00")
		if i := slices.Index(words, "-D"); i > 0 && i+1 < len(words) && strings.HasSuffix(words[0], "/postgres") {
			l.segments = append(l.segments, segmentOf(words[i+1]))
		}
	}
	for address, inode := range listeners(t) {
		if sockets[inode] {
			l.ports = append(l.ports, address)
		}
	}
	return l
}

// gone fails when something of it is still there after the guard had its time.
func (l leftovers) gone(t *testing.T) {
	t.Helper()
	eventually(t, "its processes to be gone", func() (left []string) {
		for pid, identity := range l.processes {
			if identityOf(pid) == identity {
				left = append(left, identity)
			}
		}
		return left
	})
	eventually(t, "its ports to be free", func() (left []string) {
		now := listeners(t)
		for _, address := range l.ports {
			if now[address] != "" {
				left = append(left, address)
			}
		}
		return left
	})
	eventually(t, "its folders to be gone", func() (left []string) {
		for _, folder := range l.folders {
			if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
				left = append(left, folder)
			}
		}
		return left
	})
	eventually(t, "its shared memory to be gone", func() (left []string) {
		for id := range segmentsNow(t) {
			if slices.Contains(l.segments, id) {
				left = append(left, id)
			}
		}
		return left
	})
}

// eventually waits until nothing is left any more.
func eventually(t *testing.T, what string, left func() []string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		still := left()
		if len(still) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("waited in vain for %s: %q", what, still)
			return
		}
	}
}

func everyProcess(t *testing.T) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// statOf are the fields of /proc/PID/stat from the state on; see proc(5).
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return nil
	}
	return fields
}

func parentOf(pid int) (int, bool) {
	fields := statOf(pid)
	if fields == nil {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

// identityOf is a process's command and start time, empty when it is dead: a
// zombie waits for its reaper, which is not ours to be.
func identityOf(pid int) string {
	fields := statOf(pid)
	if fields == nil || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	// Postgres changes its command line as it goes: the time is what counts.
	words := strings.Split(string(command), "\x00")
	name, _, _ := strings.Cut(strings.Join(words[:min(2, len(words))], " "), ":")
	return fmt.Sprintf("%d %s, since %s", pid, name, fields[19])
}

// listeners maps what somebody listens on to the socket's number; see
// /proc/net/tcp in proc(5): 0A is LISTEN.
func listeners(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" {
				found[f[1]] = f[9]
			}
		}
	}
	return found
}

// segmentOf is the System V segment of a running cluster: the second number of
// the seventh line of its postmaster.pid. It is empty while the cluster starts.
func segmentOf(data string) string {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return ""
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 7 || len(strings.Fields(lines[6])) != 2 {
		return ""
	}
	return strings.Fields(lines[6])[1]
}

func segmentsNow(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 5 {
			ids[f[1]] = true
		}
	}
	return ids
}
