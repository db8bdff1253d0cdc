package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// awaitExit waits until a child of ours is dead, without reaping it.
func awaitExit(pid int) bool {
	const (
		idPid   = 1          // P_PID
		exited  = 0x00000004 // WEXITED
		noReap  = 0x01000000 // WNOWAIT
		infoLen = 128        // sizeof(siginfo_t)
	)
	var info [infoLen / 8]uint64
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idPid, uintptr(pid), uintptr(unsafe.Pointer(&info)), exited|noReap, 0, 0)
		if errno != syscall.EINTR {
			return errno == 0
		}
	}
}

// status is a line of /proc/PID/stat.
type status struct {
	identity
	parent, group int
	dead          bool
	// blank is set while it has no environment yet, in the middle of executing a
	// program, or none any more, in the middle of its end.
	blank bool
}

// parseStatus reads a line of /proc/PID/stat, see proc(5): the name in
// parentheses may itself hold spaces and parentheses; the fields after it are
// state (3), ppid (4), pgrp (5), ..., flags (9), ..., num_threads (20),
// itrealvalue, starttime (22), ..., env_end (51).
func parseStatus(pid int, line []byte) (status, bool) {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return status{}, false
	}
	fields := bytes.Fields(line[end+1:])
	if len(fields) < 20 {
		return status{}, false
	}
	number := func(field int) uint64 {
		if field-3 >= len(fields) {
			return 0
		}
		n, err := strconv.ParseUint(string(fields[field-3]), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	s := status{identity: identity{pid: pid, born: number(22)}, parent: int(number(4)), group: int(number(5))}
	// A dead leader whose threads still run shows Z as well.
	s.dead = (fields[0][0] == 'Z' && number(20) <= 1) || fields[0][0] == 'X'
	const kernelThread = 0x00200000 // PF_KTHREAD of include/linux/sched.h
	s.blank = number(51) == 0 && number(9)&kernelThread == 0
	return s, true
}

// reader reads small files of /proc into one buffer.
type reader struct{ buf []byte }

// read returns the content of a file; it is valid until the next call.
func (r *reader) read(name string) ([]byte, error) {
	if r.buf == nil {
		r.buf = make([]byte, 16<<10)
	}
	// The raw calls: os.Open would try each file with the poller.
	fd, err := retry(func() (int, error) { return syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Close(fd) }()
	size := 0
	for {
		if size == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		n, err := retry(func() (int, error) { return syscall.Read(fd, r.buf[size:]) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return r.buf[:size], nil
		}
		size += n
	}
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

func (r *reader) status(pid int) (status, bool) {
	line, err := r.read("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, false
	}
	return parseStatus(pid, line)
}

// marked says whether the process was started with the variable in its
// environment, or that this cannot be told now.
func (r *reader) marked(pid int, marker string) (yes, unsure bool) {
	const looks = 3 // at an environment that is empty: it may have come between two questions
	for range looks {
		// Kernels differ in whether it is an error or nothing that a process
		// without memory of its own has.
		env, err := r.read("/proc/" + strconv.Itoa(pid) + "/environ")
		if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
			return false, false // another user's
		}
		if len(env) > 0 {
			return holds(env, marker), false
		}
		if now, ok := r.status(pid); !ok || now.dead {
			return false, false
		} else if now.blank {
			return false, true
		}
	}
	return false, false // started with an empty one
}

func holds(env []byte, entry string) bool {
	for len(env) > 0 {
		var first []byte
		first, env, _ = bytes.Cut(env, []byte{0})
		if string(first) == entry {
			return true
		}
	}
	return false
}

// living lists the processes that are not dead and have at least the number
// least, ourselves left out.
func (r *reader) living(least int) []status {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil && len(names) == 0 {
		return nil
	}
	self := os.Getpid()
	var all []status
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self || pid < least {
			continue
		}
		if s, ok := r.status(pid); ok && !s.dead {
			all = append(all, s)
		}
	}
	return all
}

// startTime is when a process started, in ticks since the machine did; zero
// when there is no such process.
func startTime(pid int) uint64 {
	var r reader
	s, _ := r.status(pid)
	return s.born
}

// descendants lists the children of a process, their children, and so on.
func descendants(of ...int) []identity {
	var r reader
	return familyOf(r.living(0), of)
}

func familyOf(all []status, of []int) []identity {
	children := map[int][]identity{}
	for _, s := range all {
		children[s.parent] = append(children[s.parent], s.identity)
	}
	var family []identity
	for queue := slices.Clone(of); len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			family = append(family, child)
			queue = append(queue, child.pid)
		}
	}
	return family
}

// blankPatience bounds the wait for processes that have no environment at the
// moment. It is spent only when one hangs in that state.
const blankPatience = time.Second

// sweep kills what the hunt is after until a look finds none of it alive, and
// returns what was still there when its patience ended.
func sweep(h hunt) []int {
	var r reader
	began := time.Now()
	for pause := 200 * time.Microsecond; ; pause = min(pause*2, 20*time.Millisecond) {
		prey, unsure := r.find(h)
		if len(prey) == 0 && (!unsure || time.Since(began) > blankPatience) {
			return nil
		}
		var left []int
		for _, victim := range prey {
			r.kill(victim)
			left = append(left, victim.pid)
			// It loses its environment before it is dead, and is waited for.
			if !slices.Contains(h.family, victim) {
				h.family = append(slices.Clip(h.family), victim)
			}
		}
		if time.Since(began) > sweepPatience {
			return left
		}
		time.Sleep(pause) // for the kernel to end them
	}
}

// find looks once. It is unsure when a process cannot be told from prey yet.
func (r *reader) find(h hunt) (prey []identity, unsure bool) {
	for _, s := range r.living(h.least) {
		_, grouped := h.groups[s.group]
		switch {
		case h.group != 0 && s.group == h.group, grouped:
		case slices.Contains(h.family, s.identity):
			// A guard inside the tree, of a harness that is itself under test,
			// has its own to clean up.
			if guard, _ := r.marked(s.pid, guardVariable+"=1"); guard {
				continue
			}
		case h.marker != "" && s.born >= h.since:
			yes, blank := r.marked(s.pid, h.marker)
			unsure = unsure || blank
			if !yes {
				continue
			}
		default:
			continue
		}
		prey = append(prey, s.identity)
	}
	return prey, unsure
}

// kill sends SIGKILL to exactly the process that was seen. Go holds a process
// by a descriptor where the kernel has them, so that a number given away
// between the look and the signal hurts nobody.
func (r *reader) kill(victim identity) {
	held, err := os.FindProcess(victim.pid)
	if err != nil {
		return
	}
	defer func() { _ = held.Release() }()
	if now, ok := r.status(victim.pid); !ok || now.born != victim.born {
		return
	}
	_ = held.Signal(syscall.SIGKILL) // gone already is as good
}
