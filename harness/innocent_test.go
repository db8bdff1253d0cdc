package harness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// The workloads of the scenarios.
const (
	oneOrder    = "workload:\n  - place: {order: o1, customer: c1}\n"
	twoOrders   = oneOrder + "  - place: {order: o2, customer: c1}\n"
	threeOrders = twoOrders + "  - place: {order: o3, customer: c2}\n"
	batchPace   = "pace: batch\n"
)

func faulted(workload string, faults ...string) string {
	return workload + "faults:\n  - " + strings.Join(faults, "\n  - ") + "\n"
}

func at(point, do string) string { return fmt.Sprintf(`{at: '%s', do: %s}`, point, do) }

func killed(point, restart string) string {
	return fmt.Sprintf(`{at: '%s', do: kill, then: {restart: %s}}`, point, restart)
}

// forget deletes what the target writes, once the event is out.
func forget(statements string) func(*targets.Target) {
	return schema(`CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + statements + ` RETURN NULL; END $$;
		CREATE TRIGGER forget AFTER UPDATE ON outbox FOR EACH ROW WHEN (NEW.published_at IS NOT NULL) EXECUTE FUNCTION forget()`)
}

func schema(sql string) func(*targets.Target) {
	return func(t *targets.Target) { t.SchemaSQL = append(append([]string(nil), t.SchemaSQL...), sql) }
}

const (
	deleteEvent  = `DELETE FROM outbox WHERE id = NEW.id;`
	archiveOrder = `WITH gone AS (DELETE FROM orders WHERE ref = NEW.payload->>'order' RETURNING *) INSERT INTO archive SELECT * FROM gone;`
	archiveTable = `CREATE TABLE archive (id bigint, ref text, customer text);`
)

// innocent are correct targets in states that look like a violation.
var innocent = []struct {
	name      string
	variation string
	vary      []func(*targets.Target)
	scenario  string
	// unknown, if set, is the reason for which the verdict may be unknown.
	unknown string
}{
	{"a dead relay's backend still holds the claimed row", "", nil,
		faulted(twoOrders, killed(`relay.0/postgres "select outbox" #1 unanswered`, "while backends linger")), ""},
	{"a dead relay's backend still holds the marked row", "", nil,
		faulted(twoOrders, killed(`relay.0/postgres "update outbox" #1 unanswered`, "while backends linger")), ""},
	{"a dead app's backend still holds the order", "", nil,
		faulted(twoOrders, killed(`app.0/postgres "insert outbox" #1 unanswered`, "while backends linger")), ""},
	{"the order committed and the app died before it knew", "", nil,
		faulted(twoOrders, at(`app.0/postgres "commit" #1 unanswered`, "kill")), ""},
	{"the order did not commit and the app died before it knew", "", nil,
		faulted(twoOrders, at(`app.0/postgres "commit" #1 before`, "kill")), ""},
	{"the order committed and the connection broke before the reply", "", nil,
		faulted(twoOrders, at(`app.0/postgres "commit" #1 unanswered`, "cut")), ""},
	{"the order did not commit and the connection broke before the reply", "", nil,
		faulted(twoOrders, at(`app.0/postgres "commit" #1 before`, "cut")), ""},
	{"the mark committed and the relay's connection broke before the reply", "", nil,
		faulted(twoOrders, at(`relay.0/postgres "commit" #1 unanswered`, "cut")), ""},
	{"the mark did not commit and the relay's connection broke before the reply", "", nil,
		faulted(twoOrders, at(`relay.0/postgres "commit" #1 before`, "cut")), ""},
	{"the effect committed and the consumer died before it knew", "", nil,
		faulted(twoOrders, at(`consumer.0/postgres "commit" #1 unanswered`, "kill")), ""},
	{"the row is deleted when its event is out", "", []func(*targets.Target){forget(deleteEvent)},
		faulted(twoOrders, at(`relay.0/postgres "update outbox" #1 unanswered`, "kill")), ""},
	{"the row is deleted when its event is out, and nothing else happens", "", []func(*targets.Target){forget(deleteEvent)}, twoOrders, ""},
	{"the order is archived when its event is out", "", []func(*targets.Target){schema(archiveTable), forget(archiveOrder + deleteEvent)},
		faulted(twoOrders, at(`relay.0/postgres "update outbox" #1 unanswered`, "kill")), ""},
	// The order may be gone before any reading: then its query may be wrong.
	{"the order is archived when its event is out, and nothing else happens", "", []func(*targets.Target){schema(archiveTable), forget(archiveOrder + deleteEvent)},
		twoOrders, "is in no committed reading"},
	{"a batch in flight is published again", "", nil,
		faulted(batchPace+threeOrders, at(`relay.0/broker "publish" #2 unanswered`, "kill")), ""},
	{"a batch in flight is published again after its last acknowledgement", "", nil,
		faulted(batchPace+threeOrders, at(`relay.0/broker "publish" #3 after`, "kill")), ""},
	{"an order is refused because its own database was cut off", "", nil,
		faulted(twoOrders, at(`app.0/postgres "insert orders" #1 before`, "cut")), ""},
	{"an order is refused because its own database was cut off in the middle", "", nil,
		faulted(twoOrders, at(`app.0/postgres "insert outbox" #1 unanswered`, "cut")), ""},
	{"an order is refused because its own database hangs", "", nil,
		faulted(twoOrders, at(`app.0/postgres "insert orders" #1 before`, "hang")), ""},
	{"an order is refused because its own database was cut off while the broker is away", "", nil,
		faulted(twoOrders, at(`relay.0/broker "publish" #1 before`, "hang"), at(`app.0/postgres "insert orders" #2 before`, "cut")), ""},
	{"a backend commits after its client died", "app-watches-its-commit",
		[]func(*targets.Target){schema(slowCommitSchema("orders", 0.5)), func(t *targets.Target) {
			t.Pending = `SELECT count(*) + (` + slowCommits + `) FROM outbox WHERE published_at IS NULL`
		}},
		faulted(oneOrder, at(`app.0/postgres "select marker" #1 unanswered`, "kill")), ""},
	// Nothing but the transaction itself tells that an order is on its way.
	{"a backend commits after its client died and nobody waits for it", "app-watches-its-commit", []func(*targets.Target){schema(slowCommitSchema("orders", 1.5))},
		faulted(oneOrder, at(`app.0/postgres "select marker" #1 unanswered`, "kill")), "committed later"},
	{"a dead relay's lease runs out", "relay-leases", []func(*targets.Target){schema(leaseSchema), func(t *targets.Target) { t.Drain = targets.Drain{} }},
		faulted(twoOrders, at(`relay.0/broker "publish" #1 before`, "kill")), ""},
	{"a dead relay's lease runs out, and nothing tells what is pending", "relay-leases",
		[]func(*targets.Target){schema(leaseSchema), func(t *targets.Target) { t.Drain, t.Pending = targets.Drain{}, "" }},
		faulted(oneOrder, at(`relay.0/postgres "update outbox" #1 unanswered`, "kill")), ""},
}

func TestTheInnocentAreNotConvicted(t *testing.T) {
	for _, c := range innocent {
		t.Run(c.name, func(t *testing.T) {
			s := borrow(t)
			target := reference(t)
			if c.variation != "" {
				target = variation(t, c.variation)
			}
			for _, vary := range c.vary {
				vary(&target)
			}
			for _, v := range attempt(t, s, target, parse(t, c.scenario), replays(t, 1)) {
				why := strings.Join(v.reasons(), "\n")
				mayBe := c.unknown != "" && v.judgement.Verdict == properties.UnknownResult && strings.Contains(why, c.unknown)
				if v.judgement.Verdict != properties.Pass && !mayBe {
					t.Errorf("the verdict is %s, want pass:\n%s", v.judgement.Verdict, v.told())
				}
				if !v.fired() {
					t.Errorf("%d of %d faults struck: %s", v.struck(), len(v.scenario.Faults), v.whyUnfired())
				}
			}
		})
	}
}
