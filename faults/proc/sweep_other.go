//go:build !linux

package proc

import (
	"syscall"
	"time"
)

// awaitExit cannot wait without reaping here.
func awaitExit(int) bool { return false }

// startTime is not known without /proc.
func startTime(int) uint64 { return 0 }

// descendants are not known without /proc.
func descendants(...int) []identity { return nil }

// sweep ends the groups; markers and families cannot be found without /proc.
func sweep(h hunt) []int {
	var left []int
	for group := range h.groups {
		left = append(left, sweepGroup(group)...)
	}
	if h.group != 0 {
		left = append(left, sweepGroup(h.group)...)
	}
	return left
}

func sweepGroup(group int) []int {
	deadline := time.Now().Add(sweepPatience)
	for pause := time.Millisecond; ; pause = min(pause*2, 20*time.Millisecond) {
		// EPERM is a group of which only zombies are left.
		if err := syscall.Kill(-group, syscall.SIGKILL); err != nil {
			return nil
		}
		if time.Now().After(deadline) {
			return []int{group}
		}
		time.Sleep(pause)
	}
}
