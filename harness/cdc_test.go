package harness

import (
	"slices"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

// A relay that reads a replication slot is struck at what it says on it, and at its
// publishes, and loses nothing: the codec follows a connection into replication, and
// what a slot repeats is no trouble. (make soak sweeps the whole of it.)
func TestChangeDataCapturePasses(t *testing.T) {
	for _, c := range []struct{ target, points string }{
		{"cdc", "publish"},
		{"cdc", "status"},
		{"cdc-orders", "publish"},
	} {
		t.Run(c.target+" at "+c.points, func(t *testing.T) {
			s := borrow(t)
			result, err := s.Run(t.Context(), find(t, c.target).Target, Options{Out: t.TempDir(), Orders: 1, Depth: DepthSingle, Points: c.points})
			if err != nil {
				t.Fatal(err)
			}
			if result.Verdict != properties.Pass || result.Points.Exercised == 0 || result.Points.Unreached > 0 {
				t.Errorf("%s, %+v: %v %v", result.Verdict, result.Points, result.Why, result.Properties)
			}
		})
	}
}

// Each of its mutants loses the order's event when the relay dies between the two
// publishes of one transaction.
func TestChangeDataCaptureMutants(t *testing.T) {
	for _, b := range builtin.All() {
		if b.Family != "cdc" || b.Expected == "" {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			r := prepared(t, borrow(t), b.Target)
			// A status and a publish are under way at once: which is first is no matter here.
			fault := `{at: 'relay.0/postgres "status" #1 after', do: kill, drop: ['relay.0/broker "publish" #2 before']}`
			if b.Name == "slot-made-anew" { // which confirms after both
				fault = at(`relay.0/broker "publish" #2 before`, "kill")
			}
			sc := parse(t, faulted(oneOrder, fault))
			calm, err := r.try(t.Context(), 0, sc.Calm())
			if err != nil {
				t.Fatal(err)
			}
			if calm.judgement.Verdict != properties.Pass {
				t.Fatalf("without a fault: %s: %s", calm.judgement.Verdict, calm.told())
			}
			r.learn(calm)
			for range 2 {
				v, err := r.try(t.Context(), 0, sc)
				if err != nil {
					t.Fatal(err)
				}
				if got := v.violated(); !slices.Equal(got, []string{b.Expected}) {
					t.Errorf("%s, violated: %v, want %s: %s", v.judgement.Verdict, got, b.Expected, v.told())
				}
			}
		})
	}
}
