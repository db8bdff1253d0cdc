package wire_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	roundTripRounds = 15
	roundTrips      = 2000 // in one measurement
	manyRows        = 100_000
)

// BenchmarkRoundTrip is one client that waits for each answer: what a proxy
// costs here is its latency.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("select", func(b *testing.B) {
		cs := clients(b)
		compare(b, roundTripRounds, func(way int) float64 {
			return repeat(roundTrips, func() {
				if _, err := cs[way].Exec(b.Context(), "SELECT 1"); err != nil {
					b.Fatal(err)
				}
			})
		})
	})
	b.Run("publish", func(b *testing.B) {
		upstream := startNATS(b)
		var js [ways]jetstream.JetStream
		for way, addr := range passages(b, upstream, "relay.0/broker", readNATS) {
			js[way] = dialNATS(b, addr)
		}
		_, err := js[direct].CreateStream(b.Context(), jetstream.StreamConfig{
			Name: "BENCH", Subjects: []string{"bench"}, Storage: jetstream.MemoryStorage, MaxMsgs: roundTrips,
		})
		if err != nil {
			b.Fatal(err)
		}
		message := make([]byte, 256)
		compare(b, roundTripRounds, func(way int) float64 {
			return repeat(roundTrips, func() {
				if _, err := js[way].Publish(b.Context(), "bench", message); err != nil {
					b.Fatal(err)
				}
			})
		})
	})
}

// BenchmarkRows is a long answer: what a proxy costs here is its throughput.
func BenchmarkRows(b *testing.B) {
	cs := clients(b)
	compare(b, roundTripRounds, func(way int) float64 {
		return manyRows * repeat(1, func() {
			rows, err := cs[way].Query(b.Context(), "SELECT i, 'order ' || i FROM generate_series(1, $1::int) i", manyRows)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for rows.Next() {
				n++
			}
			if rows.Err() != nil || n != manyRows {
				b.Fatalf("%d rows, %v", n, rows.Err())
			}
		})
	})
}

// clients connects to a server of the benchmark's own, in all ways.
func clients(b *testing.B) (cs [ways]*pgx.Conn) {
	b.Helper()
	for way, addr := range passages(b, startPostgres(b), "app.0/postgres", readPostgres) {
		cs[way] = connect(b, addr)
	}
	return cs
}

// repeat returns how many times a second do was done.
func repeat(times int, do func()) float64 {
	began := time.Now()
	for range times {
		do()
	}
	return float64(times) / time.Since(began).Seconds()
}
