package harness

import (
	"fmt"
	"time"
)

// budget is the time after which a run begins no new cell. The zero value is
// never spent.
type budget struct {
	whole time.Duration
	end   time.Time
}

func newBudget(whole time.Duration, begin time.Time) budget {
	if whole == 0 {
		return budget{}
	}
	return budget{whole, begin.Add(whole)}
}

func (b budget) spent() bool { return !b.end.IsZero() && !time.Now().Before(b.end) }

// spentOnRecording says that the fault-free runs left no time for a cell.
func (b budget) spentOnRecording(took time.Duration) string {
	return fmt.Sprintf("the budget of %v was spent before the first cell: the fault-free runs took %.1f s, and without them no cell is known; give more with --budget, or fewer orders with --orders",
		b.whole, took.Seconds())
}
