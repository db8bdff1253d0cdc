package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
)

// The benchmarks of this room compare four ways to one server. What they print
// are ratios of rates that were measured side by side in one run, so that they
// can be compared between machines: "of-stock" is what our proxy keeps of the
// rate of a stock Toxiproxy without toxics, "of-noop" of one with the toxic
// that does nothing, "of-direct" of no proxy at all.
const (
	direct = iota
	stock
	noop
	ours
	ways
)

// passage is the address that each way to one server has.
type passage [ways]string

// passages opens all ways to a server. Our proxy is as a trial has it: its
// connections are read, everything is observed, and a fault that will not
// happen is armed.
func passages(b *testing.B, upstream string, link string, protocol wire.Protocol) (p passage) {
	b.Helper()
	p[direct] = upstream
	p[stock] = startStock(b, upstream, "")
	p[noop] = startStock(b, upstream, "noop")
	observed := 0
	board := wire.New(wire.Options{Observe: func(wire.Observation) { observed++ }})
	b.Cleanup(func() {
		board.Close()
		if observed == 0 {
			b.Error("nothing was observed: our proxy was not in the way")
		}
	})
	never := faults.Fault{Do: faults.Kill, At: at(b, link+` "never" #1 unanswered`)}
	if err := board.Arm([]faults.Fault{never}); err != nil {
		b.Fatal(err)
	}
	name, err := faults.ParseLink(link)
	if err != nil {
		b.Fatal(err)
	}
	if p[ours], err = board.Link(name, upstream, protocol); err != nil {
		b.Fatal(err)
	}
	return p
}

// startStock starts a proxy of Toxiproxy as it comes, with a toxic of its own
// in both directions if one is named.
func startStock(b *testing.B, upstream, toxic string) (addr string) {
	b.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "stock", "127.0.0.1:0", upstream)
	for _, stream := range []string{"upstream", "downstream"} {
		if toxic == "" {
			break
		}
		_, err := proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"type": %q, "stream": %q}`, toxic, stream)))
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := proxy.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(proxy.Stop)
	return proxy.Listen
}

// compare measures the ways in turns and reports the ratios. The measurements
// of one round lie next to each other, and each round begins with another way,
// so that what else the machine does hits all alike; a ratio is the median of
// the rounds' ratios. The number of rounds is fixed: b.N has no say.
func compare(b *testing.B, rounds int, rate func(way int) float64) {
	b.Helper()
	for way := range ways {
		rate(way) // caches and connections get warm
	}
	var rates [ways][]float64
	b.ResetTimer()
	for round := range rounds {
		for i := range ways {
			way := (round + i) % ways
			rates[way] = append(rates[way], rate(way))
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op") // how long it was measured is no result
	b.ReportMetric(median(rates[ours]), "ours/s")
	for other, unit := range []string{direct: "of-direct", stock: "of-stock", noop: "of-noop"} {
		b.ReportMetric(median(quotients(rates[ours], rates[other])), unit)
	}
	b.ReportMetric(median(quotients(rates[stock], rates[direct])), "stock-of-direct")
	spread := slices.Sorted(slices.Values(quotients(rates[ours], rates[stock])))
	b.Logf("of-stock is the median of %d rounds; half of them lie between %.2f and %.2f", rounds, spread[rounds/4], spread[rounds-1-rounds/4])
}

func quotients(of, by []float64) (all []float64) {
	for i := range of {
		all = append(all, of[i]/by[i])
	}
	return all
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
