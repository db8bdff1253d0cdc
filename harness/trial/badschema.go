package trial

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// badSchema is the error of a schema file that Postgres refuses, with the place in the
// file where that tells one.
func (j *Job) badSchema(i int, err error) *TargetError {
	where := ""
	if names := j.target.Schema.Files; len(names) == len(j.target.SchemaSQL) {
		where = names[i]
	}
	said := err.Error()
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		if refused.Position > 0 {
			line, column := lineAndColumn(j.target.SchemaSQL[i], int(refused.Position))
			where += fmt.Sprintf(":%d:%d", line, column)
		}
		said = fmt.Sprintf("%s (SQLSTATE %s)", refused.Message, refused.Code)
		for _, more := range []string{refused.Detail, refused.Hint} {
			if more != "" {
				said += ": " + more
			}
		}
	}
	if where != "" {
		where = " (" + strings.TrimPrefix(where, ":") + ")"
	}
	return &TargetError{Stage: StageSchema, What: fmt.Sprintf("schema file %d of %d%s cannot be applied: %s", i+1, len(j.target.SchemaSQL), where, said),
		Mend: "correct the SQL: psql on an empty database takes the files in this order"}
}

// lineAndColumn is where the n-th character of a text stands; all three count from 1.
func lineAndColumn(text string, n int) (line, column int) {
	line, column = 1, 1
	for _, r := range text {
		if n--; n == 0 {
			break
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}
