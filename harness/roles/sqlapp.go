package roles

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets"
)

// SQLSettings are the statements that write one order.
type SQLSettings struct {
	Statements []string `json:"statements"`
}

// RunSQLApp is the harness's own app: it runs the manifest's statements in one
// transaction for each order, and rolls the transaction back for an abort. It
// speaks the stdio protocol and ends when its input does.
func RunSQLApp(ctx context.Context) error {
	s, err := settings[SQLSettings]()
	if err != nil {
		return err
	}
	addresses, err := targets.FromEnvironment(os.Getenv)
	if err != nil {
		return fmt.Errorf("read the addresses: %w", err)
	}
	app := &sqlApp{addresses: addresses, statements: s.Statements}
	defer app.disconnect()
	return app.serve(ctx, os.Stdin, os.Stdout)
}

type sqlApp struct {
	addresses  targets.Addresses
	statements []string
	conn       *pgx.Conn
}

type sqlRequest struct {
	ID       int    `json:"id"`
	Op       string `json:"op"`
	Order    string `json:"order"`
	Customer string `json:"customer"`
}

type sqlResponse struct {
	ID    int    `json:"id"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func (a *sqlApp) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var r sqlRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		answer := sqlResponse{ID: r.ID, OK: true}
		if err := a.run(ctx, r); err != nil {
			answer = sqlResponse{ID: r.ID, Error: err.Error()}
			// A connection in doubt is not used again.
			a.disconnect()
		}
		if err := answers.Encode(answer); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return lines.Err()
}

func (a *sqlApp) run(ctx context.Context, r sqlRequest) error {
	if a.conn == nil {
		conn, err := pgx.Connect(ctx, a.addresses.Postgres.URL)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		a.conn = conn
	}
	tx, err := a.conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	addresses := a.addresses
	addresses.Order, addresses.Customer = r.Order, r.Customer
	for i, statement := range a.statements {
		sql, err := targets.Expand(statement, addresses)
		if err != nil {
			return fmt.Errorf("statement %d: %w", i+1, err)
		}
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("statement %d: %w", i+1, err)
		}
	}
	if r.Op == "abort" {
		return tx.Rollback(ctx)
	}
	return tx.Commit(ctx)
}

func (a *sqlApp) disconnect() {
	if a.conn != nil {
		// The error is about a connection that nobody wants any more.
		_ = a.conn.Close(context.Background())
		a.conn = nil
	}
}
