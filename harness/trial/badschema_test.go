package trial

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/outboxtest/outboxtest/targets"
)

func TestBadSchema(t *testing.T) {
	refused := &pgconn.PgError{Message: "no such thing", Code: "42704", Position: 10, Hint: "try another"}
	named := targets.Target{SchemaSQL: []string{"SELECT 1;", "-- \u00e4\u00f6\n\nCREATE x;"}, Manifest: targets.Manifest{Schema: targets.Schema{Files: []string{"a.sql", "b.sql"}}}}
	for _, c := range []struct {
		name   string
		target targets.Target
		err    error
		want   string
	}{
		{"with its place, in characters", named, refused, "schema file 2 of 2 (b.sql:3:3) cannot be applied: no such thing (SQLSTATE 42704): try another"},
		{"without a name", targets.Target{SchemaSQL: named.SchemaSQL}, refused, "schema file 2 of 2 (3:3) cannot"},
		{"without a place", named, &pgconn.PgError{Message: "no"}, "(b.sql) cannot be applied: no"},
		{"not from Postgres", named, errors.New("broken pipe"), "(b.sql) cannot be applied: broken pipe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := (&Job{target: c.target}).badSchema(1, c.err)
			if got.Stage != StageSchema || !strings.Contains(got.Error(), c.want) {
				t.Errorf("got %s: %v, want %q", got.Stage, got, c.want)
			}
		})
	}
}
