package wire_test

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// Many short rounds rather than few long ones: what else the machine does lasts
// seconds, and is to hit all the ways of a round.
const pgbenchRounds = 25

// BenchmarkPgbench is the throughput of Postgres' own benchmark, eight clients
// of it, with its select-only and its TPC-B-like load.
func BenchmarkPgbench(b *testing.B) {
	program := postgresProgram(b, "pgbench", "postgresql-contrib, or on Debian postgresql")
	upstream := startPostgres(b)
	pgbench(b, program, upstream, "--initialize", "--quiet", "--scale", "8")
	p := passages(b, upstream, "app.0/postgres", readPostgres)
	for _, load := range []struct {
		name string
		args []string
	}{
		{"select-only", []string{"--select-only", "--no-vacuum", "--transactions", "250"}},
		// Its tables are vacuumed before each measurement, or the later ones
		// would be slower than the earlier.
		{"tpcb-like", []string{"--builtin", "tpcb-like", "--transactions", "40"}},
	} {
		b.Run(load.name, func(b *testing.B) {
			args := append([]string{"--client", "8", "--jobs", "2"}, load.args...)
			compare(b, pgbenchRounds, func(way int) float64 {
				return transactions(b, pgbench(b, program, p[way], args...))
			})
		})
	}
}

func pgbench(b *testing.B, program, addr string, args ...string) (says string) {
	b.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		b.Fatal(err)
	}
	run := exec.CommandContext(b.Context(), program, append(args, "postgres")...)
	run.Env = append(os.Environ(),
		"PGHOST="+host, "PGPORT="+port, "PGUSER=postgres", "PGPASSWORD=secret", "PGSSLMODE=disable", "PGGSSENCMODE=disable")
	out, err := run.CombinedOutput()
	if err != nil {
		b.Fatalf("pgbench: %v\n%s", err, out)
	}
	return string(out)
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// transactions reads the rate off the report of pgbench.
func transactions(b *testing.B, says string) float64 {
	b.Helper()
	match := tps.FindStringSubmatch(says)
	if match == nil {
		b.Fatalf("pgbench tells no rate:\n%s", says)
	}
	rate, err := strconv.ParseFloat(match[1], 64)
	if err != nil || rate == 0 {
		b.Fatalf("pgbench tells no rate: %v\n%s", err, says)
	}
	return rate
}
