package harness

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/search"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// markRange is a relay with one bug: it marks all rows up to the last one that it
// published, those included that were committed after it had read them.
func markRange(ctx context.Context) error {
	var broker parts.Broker
	defer broker.Close()
	if _, err := broker.Conn(); err != nil {
		return err
	}
	return parts.Loop(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, parts.Patience)
		defer cancel()
		read, err := conn.Query(ctx, `SELECT id, event_id, payload FROM outbox WHERE published_at IS NULL ORDER BY id LIMIT 100`)
		if err != nil {
			return false, fmt.Errorf("read: %w", err)
		}
		type row struct {
			ID      int64
			EventID string
			Payload []byte
		}
		batch, err := pgx.CollectRows(read, pgx.RowToStructByPos[row])
		if err != nil {
			return false, fmt.Errorf("read: %w", err)
		}
		if len(batch) == 0 {
			return false, nil
		}
		var failed error
		for _, row := range batch {
			failed = errors.Join(failed, broker.Publish(ctx, row.EventID, row.Payload))
		}
		if failed != nil {
			return false, failed
		}
		_, err = conn.Exec(ctx, `UPDATE outbox SET published_at = now() WHERE published_at IS NULL AND id <= $1`, batch[len(batch)-1].ID)
		return true, err
	})
}

// TestALateCommitLandsBetweenTwoStatementsOfARelay: no crash is needed to lose an
// event by a mark that covers more than was read, only a commit between.
func TestALateCommitLandsBetweenTwoStatementsOfARelay(t *testing.T) {
	s := borrow(t)
	for _, c := range []struct {
		target string
		want   properties.Verdict
	}{{"relay-marks-a-range", properties.Fail}, {"polling", properties.Pass}} {
		t.Run(c.target, func(t *testing.T) {
			target := find(t, "polling").Target
			if c.target != "polling" {
				target = variation(t, c.target)
			}
			r := prepared(t, s, target)
			r.options.Orders = 1
			if err := r.record(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !r.earned {
				t.Fatalf("the fault-free runs are not earned: %v", r.findings.other.told())
			}
			tried := 0
			worst := properties.Pass
			for _, rec := range r.recordings {
				cells, _ := search.Cells(rec, search.Options{Faults: []faults.Kind{faults.Hold}})
				for _, cell := range cells {
					v, err := r.tryUntilFired(t.Context(), 0, cell)
					if err != nil {
						t.Fatal(err)
					}
					if !v.fired() {
						t.Errorf("%s did not fire: %s", cell, v.whyUnfired())
					}
					t.Logf("%s: %s %v", cell, v.judgement.Verdict, v.violated())
					tried, worst = tried+1, worst.Worse(v.judgement.Verdict)
				}
			}
			if tried == 0 || worst != c.want {
				t.Errorf("%d cells with a late commit, the worst verdict is %s; want %s", tried, worst, c.want)
			}
		})
	}
}
