package harness

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkGrowth tells how the time of a sweep grows with the number of orders
// of the recorded runs: in proportion to the cells when "of-smallest", the time
// for a cell against that of the shortest runs, stays near 1 or under it.
func BenchmarkGrowth(b *testing.B) {
	s := benchSession(b)
	var table strings.Builder
	fmt.Fprintf(&table, "%-8s %8s %10s %12s %12s", "orders", "cells", "seconds", "ms/cell", "of smallest")
	var smallest float64
	for _, orders := range []int{1, 2, 3, 5} {
		b.Run(fmt.Sprintf("orders-%d", orders), func(b *testing.B) {
			r := benchPolling(b, s, orders)
			b.ResetTimer()
			cells, took := benchSweep(b, r)
			b.StopTimer()
			perCell := took.Seconds() / float64(cells)
			if smallest == 0 {
				smallest = perCell
			}
			b.ReportMetric(0, "ns/op") // the sweep has its own units
			b.ReportMetric(float64(cells), "cells")
			b.ReportMetric(perCell*1000, "ms/cell")
			b.ReportMetric(perCell/smallest, "of-smallest")
			fmt.Fprintf(&table, "\n%-8d %8d %10.1f %12.1f %12.2f", orders, cells, took.Round(time.Millisecond).Seconds(), perCell*1000, perCell/smallest)
		})
	}
	fmt.Println(table.String())
}
