package harness

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/properties"
)

const (
	// flatVariable is the number of trials of TestALongRunIsFlat.
	flatVariable = "OUTBOXTEST_FLAT_TRIALS"
	flatTrials   = 40
	// flatLong is the number from which a run has as many jobs as a user's. With
	// one job nothing is in flight when it is looked at, and a short run shows
	// the smallest leak; with several only many trials do.
	flatLong = 500
	// flatPeak bounds the memory that the harness itself may ever take, in MB.
	flatPeak = 400
	// flatSamples is how often a run is looked at.
	flatSamples = 60
)

// gauges are what a run must not use up, trial by trial; alone and beside are how
// much more the last third of a run may have than the first, with one job and
// with several: then what is in flight differs from look to look. Alone is also
// what a job may have more at rest after the run than before it.
var gauges = []struct {
	name          string
	alone, beside float64
}{
	{"memory in MB", 25, 40},
	{"goroutines", 2, 60},
	{"open files", 2, 30},
	{"child processes", 0, 5},
	{"databases", 2, 6},
	{"connections to Postgres", 2, 12},
	{"streams", 0, 3},
	{"connections to the broker", 0, 6},
	{"folders of logs", 0, 0},
}

// A long run takes no more of anything at its end than at its beginning. It runs
// alone: no test beside it may be counted.
func TestALongRunIsFlat(t *testing.T) {
	trials := number(t, flatVariable, flatTrials)
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak counts from here
		t.Fatal(err)
	}
	var jobs int
	if trials < flatLong {
		jobs = 1
	}
	s, err := Open(t.Context(), Options{Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	look := newLooker(t, s)
	o := Options{Out: t.TempDir(), SkipSweep: true, ExploreTrials: 2 * len(s.stacks), Seed: 2}
	if _, err := s.Run(t.Context(), find(t, "polling").Target, o); err != nil {
		t.Fatal(err)
	}
	before := look.atRest()
	o.ExploreTrials, o.Seed = trials, 1
	var samples [][]float64
	every := max(1, trials/flatSamples)
	o.Progress = func(p Progress) {
		if p.Phase != "explore" || p.Done%every != 0 {
			return
		}
		sample, err := look.sample()
		if err != nil {
			t.Error(err)
			return
		}
		samples = append(samples, sample)
	}
	result, err := s.Run(t.Context(), find(t, "polling").Target, o)
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict != properties.Pass || result.Explored.Trials != trials {
		t.Errorf("the verdict of %d random scenarios of seed %d is %s: %s", result.Explored.Trials, result.Seed, result.Verdict, strings.Join(result.Why, "; "))
	}
	peak, err := status("VmHWM")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d trials in %.0f s, %d jobs: at most %.0f MB", trials, result.Seconds, result.Environment.Jobs, peak)
	if peak > flatPeak {
		t.Errorf("the harness took %.0f MB, want at most %d", peak, flatPeak)
	}
	flat(t, samples, jobs == 1)
	for i, after := range look.atRest() {
		g, jobs := gauges[i], float64(len(s.stacks))
		t.Logf("%-35s %6.0f %6.0f", g.name+" at rest", before[i], after)
		if after > before[i]+g.alone*jobs {
			t.Errorf("%s at rest: %.0f before the run, %.0f after it; want at most %.0f more", g.name, before[i], after, g.alone*jobs)
		}
	}
}

// flat compares the thirds of a run, the first tenth left out.
func flat(t *testing.T, samples [][]float64, alone bool) {
	t.Helper()
	samples = samples[len(samples)/10:]
	third := len(samples) / 3
	if third < 3 {
		t.Fatalf("%d samples tell nothing: more trials are needed", len(samples))
	}
	for i, g := range gauges {
		var thirds [3]float64
		for k := range thirds {
			thirds[k] = median(samples[k*third:(k+1)*third], i)
		}
		margin := g.beside
		if alone {
			margin = g.alone
		}
		t.Logf("%-35s %6.0f %6.0f %6.0f", g.name, thirds[0], thirds[1], thirds[2])
		if thirds[2] > thirds[0]+margin {
			t.Errorf("%s grow: %.0f in the first third of the run, %.0f in the last; want at most %.0f more", g.name, thirds[0], thirds[2], margin)
		}
	}
}

func median(samples [][]float64, gauge int) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, s[gauge])
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// looker looks at the harness, and at its servers on connections of its own.
type looker struct {
	t        *testing.T
	session  *Session
	postgres []*pgx.Conn
	broker   []jetstream.JetStream
}

func newLooker(t *testing.T, s *Session) *looker {
	t.Helper()
	l := &looker{t: t, session: s}
	for _, st := range s.stacks {
		user, password := st.Postgres.Credentials()
		db, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:%s@%s/postgres?sslmode=disable", user, password, st.Postgres.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close(t.Context()) })
		conn, err := nats.Connect(st.Broker.URL(""), nats.Name("outboxtest"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		js, err := jetstream.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		l.postgres, l.broker = append(l.postgres, db), append(l.broker, js)
	}
	return l
}

// sample reads every gauge, in their order.
func (l *looker) sample() ([]float64, error) {
	memory, err := status("VmRSS")
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	children, err := childProcesses()
	if err != nil {
		return nil, err
	}
	var databases, backends, streams, clients, logs int
	for i, db := range l.postgres {
		var n, m int
		if err := db.QueryRow(l.t.Context(), `SELECT (SELECT count(*) FROM pg_database), (SELECT count(*) FROM pg_stat_activity)`).Scan(&n, &m); err != nil {
			return nil, err
		}
		account, err := l.broker[i].AccountInfo(l.t.Context())
		if err != nil {
			return nil, err
		}
		connections, err := l.session.stacks[i].Broker.Connections(l.t.Context())
		if err != nil {
			return nil, err
		}
		folders, err := os.ReadDir(fmt.Sprintf("%s/logs-%d", l.session.dir, i))
		if err != nil {
			return nil, err
		}
		databases, backends, streams, clients, logs = databases+n, backends+m, streams+account.Streams, clients+len(connections), logs+len(folders)
	}
	return []float64{memory, float64(runtime.NumGoroutine()), float64(len(files)), float64(children),
		float64(databases), float64(backends), float64(streams), float64(clients), float64(logs)}, nil
}

// atRest is a sample while no trial is under way.
func (l *looker) atRest() []float64 {
	l.t.Helper()
	runtime.GC()
	sample, err := l.sample()
	if err != nil {
		l.t.Fatal(err)
	}
	return sample
}

// status reads a size of this process off /proc/self/status, in MB.
func status(key string) (float64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == key+":" {
			kb, err := strconv.ParseFloat(fields[1], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", key)
}

// childProcesses counts the children of this process, dead ones that nobody
// waited for included.
func childProcesses() (int, error) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	mine, count := strconv.Itoa(os.Getpid()), 0
	for _, p := range all {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + p.Name() + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name, in parentheses, may hold anything; state and parent follow.
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		if fields := strings.Fields(string(rest)); len(fields) > 1 && fields[1] == mine {
			count++
		}
	}
	return count, nil
}

// number is a variable's value, or what there is without it.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q: want a number from 1", variable, text)
	}
	return n
}
