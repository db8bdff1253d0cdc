package harness

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/polling"
	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// byHTTP is polling with an app that takes orders by HTTP: it wants a login, and
// keeps what its caller calls the order in a text of its own.
func byHTTP(name string, app targets.RoleFunc) targets.Target {
	t := polling.Target()
	t.Name = name
	t.Relay.Replicas = 1
	t.Go = maps.Clone(t.Go)
	t.Go[targets.RoleApp] = app
	headers := map[string]string{"Authorization": "Bearer {{.Saved.token}}"}
	t.App = targets.App{
		Place: []targets.Request{
			{HTTP: "POST /login", Body: `{"name":{{json .Customer}}}`, Save: map[string]string{"token": "body:$.token"}, Once: "customer"},
			{HTTP: "POST /orders", Body: `{"order":"web-{{.UUID}}","customer":"{{.Customer}}"}`, Headers: headers},
		},
		AbortBy: []targets.Request{{HTTP: "POST /orders?fail=yes", Body: `{"order":"web-{{.UUID}}","customer":"{{.Customer}}"}`, Headers: headers, Accepted: []int{409}}},
	}
	t.SchemaSQL = append(slices.Clone(t.SchemaSQL), `CREATE TABLE logins (name text)`)
	// In capitals, as some databases show it.
	t.Committed = `SELECT upper(ref), id FROM orders`
	return t
}

// takeOrders serves orders by HTTP until the process is killed. place writes one
// and answers.
func takeOrders(place func(ctx context.Context, db *parts.Pool, w http.ResponseWriter, req parts.Request)) targets.RoleFunc {
	return func(ctx context.Context) error {
		var db parts.Pool
		defer db.Close()
		mux := http.NewServeMux()
		mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
			var who struct{ Name string }
			if err := json.NewDecoder(r.Body).Decode(&who); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if err := logIn(ctx, &db, who.Name); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]string{"token": "pass-of-" + who.Name})
		})
		mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
			var req parts.Request
			if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if r.Header.Get("Authorization") != "Bearer pass-of-"+req.Customer {
				http.Error(w, "log in first", http.StatusUnauthorized)
				return
			}
			if r.URL.Query().Get("fail") != "" {
				req.Op = parts.OpAbort
			}
			place(ctx, &db, w, req)
		})
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", os.Getenv(targets.EnvPort)))
		if err != nil {
			return err
		}
		return http.Serve(listener, mux)
	}
}

// logIn keeps a record of it, with a commit of its own.
func logIn(ctx context.Context, db *parts.Pool, name string) error {
	return db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return finishWith(ctx, conn, parts.Request{}, func() error {
			_, err := conn.Exec(ctx, `INSERT INTO logins VALUES ($1)`, name)
			return err
		})
	})
}

// answered answers for an order that was written, rolled back, or failed.
func answered(w http.ResponseWriter, req parts.Request, err error) {
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case req.Op == parts.OpAbort:
		http.Error(w, "the business says no", http.StatusConflict)
	default:
		w.WriteHeader(http.StatusCreated)
	}
}

func placeInTransaction(ctx context.Context, db *parts.Pool, req parts.Request) error {
	return db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return finishWith(ctx, conn, req, func() error { return write(ctx, conn, req) })
	})
}

// httpVariations are targets whose app takes orders by HTTP.
func httpVariations() []targets.Target {
	right := takeOrders(func(ctx context.Context, db *parts.Pool, w http.ResponseWriter, req parts.Request) {
		answered(w, req, placeInTransaction(ctx, db, req))
	})
	var broker parts.Broker // connects when it is first used
	return []targets.Target{
		byHTTP("app-by-http", right),
		byHTTP("app-by-http-publishes-in-the-handler", takeOrders(func(ctx context.Context, db *parts.Pool, w http.ResponseWriter, req parts.Request) {
			event := parts.NewEvent(req.Order, req.Customer)
			err := db.With(ctx, func(ctx context.Context, conn *pgx.Conn) error {
				return finishWith(ctx, conn, req, func() error {
					_, err := conn.Exec(ctx, `INSERT INTO orders (ref, customer) VALUES ($1, $2)`, req.Order, req.Customer)
					return err
				})
			})
			if err == nil && req.Op != parts.OpAbort {
				err = broker.Publish(ctx, event.ID, event.Payload)
			}
			answered(w, req, err)
		})),
		byHTTP("app-by-http-commits-later", takeOrders(func(ctx context.Context, db *parts.Pool, w http.ResponseWriter, req parts.Request) {
			if req.Op == parts.OpAbort {
				answered(w, req, placeInTransaction(ctx, db, req))
				return
			}
			go func() {
				time.Sleep(50 * time.Millisecond) // so that the answer is there first
				if err := placeInTransaction(ctx, db, req); err != nil {
					slog.Warn("an accepted order is not written", "error", err)
				}
			}()
			w.WriteHeader(http.StatusAccepted)
		})),
		byHTTP("app-by-http-refuses", takeOrders(func(_ context.Context, _ *parts.Pool, w http.ResponseWriter, _ parts.Request) {
			http.Error(w, "the warehouse is closed, "+os.Getenv(targets.EnvPostgresURL), http.StatusServiceUnavailable)
		})),
		byHTTP("app-by-http-closes", takeOrders(func(_ context.Context, _ *parts.Pool, w http.ResponseWriter, _ parts.Request) {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_ = conn.Close()
			}
		})),
		inBatches(right),
	}
}

// inBatches is the right app with a relay that publishes all that it finds in one
// message, whose text the consumer of the harness takes apart.
func inBatches(app targets.RoleFunc) targets.Target {
	t := byHTTP("relay-publishes-batches", app)
	t.Consumer = nil
	delete(t.Go, targets.RoleConsumer)
	t.Event = targets.EventRules{Each: "body:$.events", Order: "body:$.order", ID: "body:$.id", Sequence: "body:$.number", When: "body:$.kind == placed"}
	var once sync.Once
	var broker parts.Broker
	t.Go[targets.RoleRelay] = func(ctx context.Context) error {
		once.Do(func() { _, _ = broker.Conn() })
		return parts.Loop(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
			return publishTogether(ctx, conn, &broker)
		})
	}
	return t
}

func publishTogether(ctx context.Context, conn *pgx.Conn, broker *parts.Broker) (bool, error) {
	rows, err := conn.Query(ctx, `SELECT id, event_id, payload FROM outbox WHERE published_at IS NULL ORDER BY id`)
	if err != nil {
		return false, err
	}
	batch, err := pgx.CollectRows(rows, pgx.RowToStructByPos[outboxRow])
	if err != nil || len(batch) == 0 {
		return false, err
	}
	type event struct {
		Kind   string `json:"kind"`
		Order  string `json:"order,omitempty"`
		ID     string `json:"id,omitempty"`
		Number int64  `json:"number,omitempty"`
	}
	message := struct {
		Events []event `json:"events"`
	}{[]event{{Kind: "greeting"}}}
	var ids []int64
	for _, row := range batch {
		order, err := parts.OrderOf(row.Payload)
		if err != nil {
			return false, err
		}
		ids = append(ids, row.ID)
		message.Events = append(message.Events, event{Kind: "placed", Order: strings.TrimPrefix(order, "web-"), ID: row.EventID, Number: row.ID})
	}
	text, err := json.Marshal(message)
	if err != nil {
		return false, err
	}
	if err := broker.Publish(ctx, batch[0].EventID, text); err != nil {
		return false, err
	}
	_, err = conn.Exec(ctx, `UPDATE outbox SET published_at = now() WHERE id = ANY($1)`, ids)
	return true, err
}
