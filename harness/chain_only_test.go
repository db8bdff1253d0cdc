package harness

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

const startsSchema = `CREATE TABLE starts (id bigserial PRIMARY KEY)`

// loseAfterManyStarts marks the first row that it finds without publishing it,
// when the relay has been started three times before on this database: no trial
// of one cell gets there.
func loseAfterManyStarts(ctx context.Context) error {
	var broker parts.Broker
	defer broker.Close()
	counted, lose := false, false
	return parts.Loop(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		if !counted {
			var n int
			if err := conn.QueryRow(ctx, `INSERT INTO starts DEFAULT VALUES RETURNING id`).Scan(&n); err != nil {
				return false, err
			}
			counted, lose = true, n > 3
		}
		if lose {
			tag, err := conn.Exec(ctx, `UPDATE outbox SET published_at = now() WHERE id = (SELECT min(id) FROM outbox WHERE published_at IS NULL)`)
			lose = err == nil && tag.RowsAffected() == 0
			return !lose, err
		}
		rows, err := conn.Query(ctx, `SELECT id, event_id, payload FROM outbox WHERE published_at IS NULL ORDER BY id LIMIT 100`)
		if err != nil {
			return false, err
		}
		return publishAndMark(ctx, conn, &broker, rows)
	})
}

// A loss that only a chain shows is found, and its file brings it back.
func TestALossThatTakesAChainIsFound(t *testing.T) {
	s := borrow(t)
	target := variation(t, "relay-loses-after-many-starts")
	schema(startsSchema)(&target)
	result, err := s.Run(t.Context(), target, Options{
		Out: t.TempDir(), Orders: 4, Faults: []faults.Kind{faults.Kill}, Points: `relay.0/broker "publish"`, Depth: DepthSingle, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	v := conviction(t, result, "no-lost-event")
	sc, err := scenario.Load(v.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if len(sc.Segments) == 0 && len(sc.Faults) < 2 {
		t.Errorf("the file holds no chain: %+v", sc)
	}
	if result.Verdict != properties.Fail {
		t.Errorf("the verdict is %s", result.Verdict)
	}
}
