package properties

import (
	"slices"
	"strings"
	"testing"
)

// What a consumer applied twice is shown both times, with the redelivery between,
// and not what it did of other events.
func TestEvidenceShowsEachApplication(t *testing.T) {
	const inbox, effects = "consumer.0/broker", "consumer.0/postgres"
	b := begin("o1", "o2").place("o1", "o2").relay("o1", "o2")
	deliver := func(position uint64, order string, labels ...string) {
		b.next(inbox, "deliver", Wire{What: WirePush, Order: order, EventID: "e-" + order, Position: position, Consumer: "kitchen"})
		b.sql(effects, labels...)
	}
	ack := func(position uint64) {
		b.next(inbox, "ack", Wire{What: WireOneWay, Position: position, Consumer: "kitchen"})
	}
	deliver(1, "o1", "begin", "insert effects", "commit")
	deliver(1, "o1", "begin", "insert effects", "commit")
	ack(1)
	b.sql(effects, "select idle_work")
	deliver(2, "o2", "insert other")
	ack(2)
	b.effect("kitchen", "o1", 2).effect("billing", "o1", 1).effect("kitchen", "o2", 1).effect("billing", "o2", 1)
	j := Judge(b.drain(BasisComplete).end())
	for _, p := range j.Results {
		if p.Property != AppliedOnce {
			continue
		}
		if len(p.Violations) != 1 || p.Violations[0].Order != "o1" {
			t.Fatalf("violations: %+v", p.Violations)
		}
		evidence := p.Violations[0].Evidence
		line := func(of string) int {
			return slices.IndexFunc(evidence, func(l string) bool { return strings.Contains(l, of) })
		}
		want := []string{`"deliver" #1`, `"insert effects" #1`, `consumer.0/postgres "commit" #1`, `"deliver" #2`, `"insert effects" #2`, `consumer.0/postgres "commit" #2`, `"ack" #1`}
		for i, of := range want {
			if line(of) < 0 || i > 0 && line(of) < line(want[i-1]) {
				t.Errorf("%s is missing, or not in its place, in:\n%s", of, strings.Join(evidence, "\n"))
			}
		}
		for _, of := range []string{"insert other", "idle_work"} {
			if line(of) >= 0 {
				t.Errorf("%s explains nothing of o1", of)
			}
		}
		return
	}
	t.Fatalf("%s was not judged: %+v", AppliedOnce, j)
}
