package capture

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/polling/parts"
)

// aliveEvery is how often the server hears from a client that has nothing to
// say. It is far below wal_sender_timeout, which is a minute by default.
const aliveEvery = 100 * time.Millisecond

// silenceLimit is when a server that was asked for a word is taken for gone: a
// connection can die without a sign.
const silenceLimit = 2 * time.Second

// Stream reads whole transactions from a slot, on a connection of its own.
// Messages and their meaning: PostgreSQL's documentation, "Logical Streaming
// Replication Protocol" and "Streaming Replication Protocol".
type Stream struct {
	conn      *pgconn.PgConn
	relations map[uint32]*pglogrepl.RelationMessage
	// delivered is the end of the last transaction that Next returned, confirmed
	// the last position that the server may forget.
	delivered, confirmed pglogrepl.LSN
	nextAlive, heard     time.Time
}

// Open begins to stream where the slot's last confirmed position was. Whoever opens
// a stream closes it.
func Open(ctx context.Context, slot string) (*Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, parts.Patience)
	defer cancel()
	config, err := pgconn.ParseConfig(os.Getenv(targets.EnvPostgresURL))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", targets.EnvPostgresURL, err)
	}
	config.RuntimeParams["replication"] = "database"
	config.RuntimeParams["application_name"] = os.Getenv(targets.EnvInstance)
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect for replication: %w", err)
	}
	s := &Stream{conn: conn, relations: map[uint32]*pglogrepl.RelationMessage{}, nextAlive: time.Now().Add(aliveEvery), heard: time.Now()}
	// Position 0 is the slot's own.
	err = pglogrepl.StartReplication(ctx, conn, slot, 0, pglogrepl.StartReplicationOptions{
		PluginArgs: []string{"proto_version '1'", "publication_names '" + publication + "'"},
	})
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("start replication: %w", err)
	}
	return s, nil
}

// Close ends the stream and its connection.
func (s *Stream) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_ = s.conn.Close(ctx)
}

// Next returns the rows that the next transaction inserted into the table: none
// when it is time to look after other things. The server sends a transaction when
// it is committed, and whole.
func (s *Stream) Next(ctx context.Context, table string) (rows []map[string]string, err error) {
	within := false
	for {
		m, err := s.receive(ctx)
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case nil:
			if !within {
				return nil, s.Alive(ctx)
			}
			if err := s.Alive(ctx); err != nil {
				return nil, err
			}
		case pglogrepl.PrimaryKeepaliveMessage:
			if !within {
				// All that was committed before it has been sent, and Next is only
				// called when that is with the broker. Without it an idle table
				// beside busy ones would keep all their WAL.
				s.delivered = max(s.delivered, m.ServerWALEnd)
				return nil, s.Confirm(ctx)
			}
			if m.ReplyRequested {
				if err := s.tell(ctx); err != nil {
					return nil, err
				}
			}
		case *pglogrepl.BeginMessage:
			within, rows = true, nil
		case *pglogrepl.RelationMessage:
			s.relations[m.RelationID] = m
		case *pglogrepl.InsertMessage:
			row, err := s.row(m, table)
			if err != nil {
				return nil, err
			}
			if row != nil {
				rows = append(rows, row)
			}
		case *pglogrepl.CommitMessage:
			s.delivered = m.TransactionEndLSN
			return rows, nil
		}
	}
}

// receive returns the next message; nil when the server has been silent.
func (s *Stream) receive(ctx context.Context) (any, error) {
	ctx, cancel := context.WithDeadline(ctx, s.nextAlive)
	defer cancel()
	raw, err := s.conn.ReceiveMessage(ctx)
	switch {
	case err != nil && pgconn.Timeout(err):
		if time.Since(s.heard) > silenceLimit {
			return nil, fmt.Errorf("receive: the server has been silent for %v, asked for a word", silenceLimit)
		}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("receive: %w", err)
	}
	s.heard = time.Now()
	if failed, ok := raw.(*pgproto3.ErrorResponse); ok {
		return nil, fmt.Errorf("receive: %s", failed.Message)
	}
	data, ok := raw.(*pgproto3.CopyData)
	if !ok || len(data.Data) == 0 {
		return nil, fmt.Errorf("receive: the server ended the stream with a %T", raw)
	}
	switch data.Data[0] {
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		return pglogrepl.ParsePrimaryKeepaliveMessage(data.Data[1:])
	case pglogrepl.XLogDataByteID:
		x, err := pglogrepl.ParseXLogData(data.Data[1:])
		if err != nil {
			return nil, fmt.Errorf("receive: %w", err)
		}
		m, err := pglogrepl.Parse(x.WALData)
		if err != nil {
			return nil, fmt.Errorf("receive: %w", err)
		}
		return m, nil
	}
	return nil, fmt.Errorf("receive: an unknown message %q", data.Data[0])
}

// row is what was inserted, by column; nil when it is another table's.
func (s *Stream) row(m *pglogrepl.InsertMessage, table string) (map[string]string, error) {
	relation := s.relations[m.RelationID]
	if relation == nil || len(relation.Columns) != len(m.Tuple.Columns) {
		return nil, fmt.Errorf("the server sent a row of relation %d and not what its columns are", m.RelationID)
	}
	if relation.RelationName != table {
		return nil, nil
	}
	row := map[string]string{}
	for i, c := range m.Tuple.Columns {
		row[relation.Columns[i].Name] = string(c.Data)
	}
	return row, nil
}

// Confirm tells the server that it may forget all that Next has returned so far.
func (s *Stream) Confirm(ctx context.Context) error {
	if s.delivered <= s.confirmed {
		return s.Alive(ctx)
	}
	s.confirmed = s.delivered
	return s.tell(ctx)
}

// Alive tells the server now and then that its client lives.
func (s *Stream) Alive(ctx context.Context) error {
	if time.Now().Before(s.nextAlive) {
		return nil
	}
	return s.tell(ctx)
}

// tell sends the confirmed position, and never one beyond it.
func (s *Stream) tell(ctx context.Context) error {
	s.nextAlive = time.Now().Add(aliveEvery)
	err := pglogrepl.SendStandbyStatusUpdate(ctx, s.conn, pglogrepl.StandbyStatusUpdate{
		WALWritePosition: s.confirmed, ReplyRequested: time.Since(s.heard) > silenceLimit/2,
	})
	if err != nil {
		return fmt.Errorf("confirm a position: %w", err)
	}
	return nil
}
