package harness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/polling"
)

const (
	// filesVariable tells a role of these tests the folder of its files.
	filesVariable = "ACCEPTANCE_FILES"
	// schemaVariable has an app of these tests make its schema and end.
	schemaVariable = "ACCEPTANCE_SCHEMA_ONLY"
)

// relayByFile is a service: it learns from a file where its database is, and says
// by HTTP that it is up, only when it has been asked before.
func relayByFile(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(os.Getenv(filesVariable), "conf", "relay.properties"))
	if err != nil {
		return err
	}
	address, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "url=")
	if !ok {
		return fmt.Errorf("no url in %q", text)
	}
	fmt.Fprintf(os.Stderr, "the database is %s\n", address)
	if err := os.Setenv(targets.EnvPostgresURL, address); err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", os.Getenv(targets.EnvPort)))
	if err != nil {
		return err
	}
	var asked atomic.Int32
	health := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	go func() { _ = http.Serve(l, health) }() // it ends with the process
	return polling.Relay(ctx)
}

// appMakesSchema makes its tables when it starts, and a replication slot, and
// leaves a mark of each start.
func appMakesSchema(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, os.Getenv(targets.EnvPostgresURL))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	made := false
	if err := conn.QueryRow(ctx, `SELECT to_regclass('starts') IS NOT NULL`).Scan(&made); err != nil {
		return err
	}
	var statements []string
	if !made {
		statements = append(polling.Target().SchemaSQL, `CREATE TABLE starts (at timestamptz)`)
	}
	for _, sql := range append(statements, `INSERT INTO starts VALUES (now())`,
		`SELECT pg_create_logical_replication_slot('acceptance', 'pgoutput') WHERE NOT EXISTS
			(SELECT FROM pg_replication_slots WHERE slot_name = 'acceptance' AND database = current_database())`) {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if os.Getenv(schemaVariable) != "" {
		fmt.Println("made the schema")
		return nil
	}
	fmt.Fprintln(os.Stderr, "the tables are there")
	return polling.App(ctx)
}
