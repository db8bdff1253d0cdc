package wire

import (
	"encoding/binary"
	"testing"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/faults/wire/pgwire"
)

// socketless returns one query and its answer as our toxic sees them, without
// sockets, on a connection that is observed and has a fault armed.
func socketless(tb testing.TB) (do func()) {
	tb.Helper()
	observed := 0
	b := New(Options{Observe: func(Observation) { observed++ }})
	never, err := faults.ParsePoint(`app.0/postgres "never" #1 unanswered`)
	if err != nil {
		tb.Fatal(err)
	}
	if err := b.Arm([]faults.Fault{{Do: faults.Kill, At: &never}}); err != nil {
		tb.Fatal(err)
	}
	l := &link{
		board: b, name: never.Link, protocol: func() frame.Conversation { return pgwire.New() },
		conns: make(map[*conn]struct{}),
	}
	if err := b.join(l); err != nil {
		tb.Fatal(err)
	}
	up, down := l.attach(frame.FromClient), l.attach(frame.FromServer)
	pass := func(h *half, p []byte) {
		b.mu.Lock()
		defer b.mu.Unlock()
		h.arrive(p)
		if d := h.step(); len(d.bytes) != len(p) {
			tb.Fatalf("%d bytes of %q passed", len(d.bytes), p)
		}
	}
	message := func(tag byte, body string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{tag}, uint32(len(body)+4)), body...)
	}
	pass(up, []byte("\x00\x00\x00\x09\x00\x03\x00\x00\x00"))
	pass(down, append(message('R', "\x00\x00\x00\x00"), message('Z', "I")...))
	query := message('Q', "SELECT abalance FROM pgbench_accounts WHERE aid = 12345;\x00")
	answer := message('T', "\x00\x01abalance\x00\x00\x00\x40\x02\x00\x03\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00")
	answer = append(answer, message('D', "\x00\x01\x00\x00\x00\x010")...)
	answer = append(answer, message('C', "SELECT 1\x00")...)
	answer = append(answer, message('Z', "I")...)
	return func() {
		before := observed
		pass(up, query)
		pass(down, answer)
		if observed != before+2 {
			tb.Fatalf("%d observations of one query", observed-before)
		}
	}
}

// TestQueryCostsFewAllocations keeps watch on what the benchmarks with real
// servers are too noisy to show: everything passes here, so what is allocated
// for each frame makes the whole trial slower.
func TestQueryCostsFewAllocations(t *testing.T) {
	const most = 8 // the exchange, and the statement with its label
	if n := testing.AllocsPerRun(100, socketless(t)); n > most {
		t.Errorf("a query and its answer cost %v allocations, want at most %d", n, most)
	}
}

// BenchmarkQuery is what our toxic itself takes for a query and its answer.
func BenchmarkQuery(b *testing.B) {
	do := socketless(b)
	b.ReportAllocs()
	for b.Loop() {
		do()
	}
}
