package proc

import "time"

// sweepPatience bounds how long a sweep waits for what it killed to be gone.
const sweepPatience = 10 * time.Second

// identity tells a process from a later one with the same number.
type identity struct {
	pid  int
	born uint64 // start time in kernel ticks
}

// hunt says which processes a sweep is after: those of a group, those with a
// marker in their environment, those of a known family.
type hunt struct {
	group  int            // zero: none
	groups map[int]uint64 // more groups, each with its leader's start time
	family []identity     // descendants seen while their parents lived
	marker string         // NAME=value
	since  uint64         // nothing we are after started earlier
	least  int            // nothing we are after has a lower number
}
