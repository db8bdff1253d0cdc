package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// Source is a table whose inserts are events.
type Source struct {
	// Columns is what a select of the table lists for Event.
	Columns []string
	Table   string
	// Event makes one of a row's columns, by name. The same row gives the same.
	Event func(row map[string]string) parts.Event
}

// Outbox is a table of its own for events.
func Outbox() Source {
	return Source{Columns: []string{"event_id", "payload"}, Table: "outbox", Event: func(row map[string]string) parts.Event {
		return parts.Event{ID: row["event_id"], Payload: []byte(row["payload"])}
	}}
}

// Orders are the orders themselves.
func Orders() Source {
	return Source{Columns: []string{"id", "ref", "customer"}, Table: "orders", Event: func(row map[string]string) parts.Event {
		text, err := json.Marshal(map[string]string{"order": row["ref"], "customer": row["customer"]})
		if err != nil {
			panic(err) // strings always encode
		}
		return parts.Event{ID: "order-" + row["id"], Payload: text}
	}}
}

// Rows reads every row that the table has.
func (s Source) Rows(ctx context.Context, conn *pgx.Conn) ([]map[string]string, error) {
	var columns []string
	for _, c := range s.Columns {
		columns = append(columns, c+"::text")
	}
	found, err := conn.Query(ctx, `SELECT `+strings.Join(columns, ", ")+` FROM `+s.Table+` ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	rows, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (map[string]string, error) {
		values := make([]string, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err := row.Scan(into...)
		named := map[string]string{}
		for i, c := range s.Columns {
			named[c] = values[i]
		}
		return named, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	return rows, nil
}
