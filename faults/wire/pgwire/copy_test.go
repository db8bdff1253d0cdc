package pgwire

import (
	"encoding/binary"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

func TestCopyIn(t *testing.T) {
	k := readyTalk(t)
	k.client(ask("copy outbox (id) from stdin"))
	k.server(&pgproto3.CopyInResponse{})
	k.client(&pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{})
	k.server(done("COPY 1"), idle)
	// The client's data belongs to the exchange; what lets it begin does not.
	k.wantAll("request #2 copy outbox", "part #2", "part #2", "part #2", "reply #2 copy outbox, rows=1 write ended=commit")
	k.client(ask("copy outbox (id) from stdin"))
	k.server(&pgproto3.CopyInResponse{})
	k.client(&pgproto3.CopyFail{Message: "no"})
	k.server(broken, idle)
	k.want("request #3 copy outbox", "reply #3 copy outbox, error=23505: duplicate key")
}

// The server ignores a Sync while it takes COPY data; libpq sends another.
func TestCopyInExtended(t *testing.T) {
	k := readyTalk(t)
	k.client(pipeline("copy outbox from stdin")...)
	k.server(parsed, bound, &pgproto3.CopyInResponse{})
	k.client(&pgproto3.CopyData{Data: []byte("1\n")}, sync, &pgproto3.CopyDone{}, sync)
	k.server(done("COPY 1"), idle)
	k.want("request #2 copy outbox", "reply #2 copy outbox, rows=1 write ended=commit")
	k.step("select * from a", idle, "SELECT 0")
	k.want("request #3 select a", "reply #3 select a, idle rows=0")
}

func TestCopyOut(t *testing.T) {
	k := readyTalk(t)
	k.client(ask("copy outbox to stdout"))
	k.server(&pgproto3.CopyOutResponse{}, &pgproto3.CopyData{Data: []byte("w\n")}, &pgproto3.CopyDone{}, done("COPY 1"), idle)
	k.want("request #2 copy outbox", "reply #2 copy outbox, rows=1")
	k.client(ask("copy outbox to stdout"))
	k.server(&pgproto3.CopyOutResponse{}, &pgproto3.CopyDone{}, done("COPY 0"), idle)
	k.want("request #3 copy outbox", "reply #3 copy outbox, idle rows=0")
}

func TestReplication(t *testing.T) {
	k := readyTalk(t)
	k.client(ask("IDENTIFY_SYSTEM"))
	k.server(row, done("IDENTIFY_SYSTEM"), idle)
	k.client(ask(`START_REPLICATION SLOT "s" LOGICAL 0/0`))
	k.server(&pgproto3.CopyBothResponse{})
	k.server(&pgproto3.CopyData{Data: []byte("w.....")}, &pgproto3.CopyData{Data: []byte("k.....")}, &pgproto3.CopyData{Data: []byte("?")}, &pgproto3.CopyData{})
	k.client(&pgproto3.CopyData{Data: []byte("r.....")}, &pgproto3.CopyData{Data: []byte("h.....")})
	k.want("request #2 identify_system", "reply #2 identify_system", "request #3 start_replication", "reply #3 start_replication",
		"push #4 xlogdata", "push #5 keepalive, idle", "oneway #6 status, idle")
	// The stream ends, and the connection takes queries again.
	k.client(&pgproto3.CopyDone{})
	k.server(&pgproto3.CopyDone{}, done("START_STREAMING"), idle)
	k.want()
	k.step("select 1", idle, "SELECT 1")
	k.want("request #7 select", "reply #7 select, rows=1")
}

// TestAStatusThatSaysNothingNewIsIdle: only a position past data that the server
// has sent since the last one is news.
func TestAStatusThatSaysNothingNewIsIdle(t *testing.T) {
	k := readyTalk(t)
	k.client(ask(`START_REPLICATION SLOT "s" LOGICAL 0/0`))
	k.server(&pgproto3.CopyBothResponse{})
	k.want("request #2 start_replication", "reply #2 start_replication")
	status := func(flushed uint64) *pgproto3.CopyData {
		data := append([]byte{'r'}, make([]byte, 8)...) // written
		return &pgproto3.CopyData{Data: append(binary.BigEndian.AppendUint64(data, flushed), make([]byte, 17)...)}
	}
	data := &pgproto3.CopyData{Data: []byte("w.....")}
	k.client(status(0))
	k.want("oneway #3 status, idle")
	k.client(status(7)) // after a keepalive
	k.want("oneway #4 status, idle")
	k.server(data)
	k.client(status(7), status(9), status(9))
	k.want("push #5 xlogdata", "oneway #6 status, idle", "oneway #7 status", "oneway #8 status, idle")
}
