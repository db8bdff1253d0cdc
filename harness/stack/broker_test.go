package stack

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func publish(t *testing.T, n *NATS, s *Stream, data string) {
	t.Helper()
	_, js, _ := n.links()
	msg := nats.NewMsg(PublishSubject(s.Subjects))
	msg.Data = []byte(data)
	msg.Header.Set("Event-Id", "id-"+data)
	// A header of the message that has the name of one of the broker's.
	msg.Header.Set(headerSequence, "77")
	if _, err := js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func testStreams(t *testing.T, n *NATS) {
	s := freshStream(t, n, "orders.*", "payments")
	if log, err := s.Log(t.Context(), 1); err != nil || len(log.Messages) != 0 || log.Last != 0 {
		t.Fatalf("an empty stream holds %+v, %v", log, err)
	}
	if got := PublishSubject(s.Subjects); got != "payments" {
		t.Errorf("publish to %s", got)
	}
	const count = readBatch + 50
	began := time.Now()
	for i := range count {
		publish(t, n, s, fmt.Sprint("m", i+1))
	}
	t.Logf("published %d in %v", count, time.Since(began))
	began = time.Now()
	got, err := s.Messages(t.Context(), 1)
	t.Logf("read %d in %v", len(got), time.Since(began))
	if err != nil || len(got) != count {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	for i, m := range got {
		if m.Sequence != uint64(i+1) || string(m.Data) != fmt.Sprint("m", i+1) || m.Subject != "payments" ||
			m.Header.Get("Event-Id") != fmt.Sprint("id-m", i+1) || m.Time.Before(time.Now().Add(-time.Minute)) {
			t.Fatalf("message %d is %+v", i+1, m)
		}
		if len(m.Header) != 2 || m.Header.Get(headerSequence) != "77" {
			t.Fatalf("the headers of message %d are %v", i+1, m.Header)
		}
	}
	handle, err := stream(t, n, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{1, 2, count - 1, count} {
		if err := handle.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	log, err := s.Log(t.Context(), 0)
	if err != nil || len(log.Messages) != count-4 || log.Last != count || !slices.Equal(log.Gone, []uint64{1, 2, count - 1, count}) {
		t.Errorf("with gaps: %d messages up to %d, gone %v, %v", len(log.Messages), log.Last, log.Gone, err)
	}
	if log, err = s.Log(t.Context(), count-3); err != nil || len(log.Messages) != 2 || !slices.Equal(log.Gone, []uint64{count - 1, count}) {
		t.Errorf("from the end: %+v, %v", log, err)
	}
	// One by one, as servers before 2.11 are read.
	version := n.version
	n.version = "2.10.4"
	defer func() { n.version = version }()
	if log, err = s.Log(t.Context(), count-5); err != nil || len(log.Messages) != 4 || log.Messages[0].Header.Get("Event-Id") == "" {
		t.Errorf("from an older server: %+v, %v", log, err)
	}
	if _, err := n.Stream(t.Context(), []string{"orders.>"}); err == nil || !strings.Contains(err.Error(), "orders.>") {
		t.Errorf("a stream that takes another's subjects: %v", err)
	}
	if err := s.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(t.Context()); err != nil {
		t.Error("dropping again:", err)
	}
	freshStream(t, n, "orders.>")
	if _, err := s.Log(t.Context(), 1); err == nil {
		t.Error("a dropped stream was read")
	}
}

func stream(t *testing.T, n *NATS, s *Stream) (jetstream.Stream, error) {
	_, js, _ := n.links()
	return js.Stream(t.Context(), s.Name)
}

func testConsumers(t *testing.T, n *NATS) {
	s := freshStream(t, n)
	for i := range 3 {
		publish(t, n, s, fmt.Sprint(i))
	}
	if list, err := s.Consumers(t.Context()); err != nil || len(list) != 0 || LongestAckWait(list) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	handle, err := stream(t, n, s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := handle.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: "kitchen", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 7 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.Fetch(2)
	if err != nil {
		t.Fatal(err)
	}
	first := true
	for m := range batch.Messages() {
		if first {
			if err := m.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		first = false
	}
	list, err := s.Consumers(t.Context())
	want := Consumer{Name: "kitchen", Pending: 1, AckPending: 1, Delivered: 2, AckFloor: 1, AckWait: AckWait(7 * time.Second), Durable: true}
	if err != nil || len(list) != 1 || list[0] != want {
		t.Errorf("got %+v, %v, want %+v", list, err, want)
	}
	if got := LongestAckWait(list); got != AckWait(7*time.Second) {
		t.Errorf("the longest wait is %v", time.Duration(got))
	}
}

func testClients(t *testing.T, n *NATS) {
	conn, err := nats.Connect(n.URL(n.Addr()), nats.Name("relay"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	id, err := conn.GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	list, err := n.Connections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	others := slices.DeleteFunc(slices.Clone(list), func(c Client) bool { return c.Ours })
	if len(list) != 3 || len(others) != 1 || others[0].ID != id || others[0].Name != "relay" || !strings.HasPrefix(others[0].Addr, "127.0.0.1:") {
		t.Errorf("got %+v", list)
	}
	// Nobody gets in without the password.
	if c, err := nats.Connect("nats://" + n.Addr()); err == nil {
		c.Close()
		t.Error("a client without a password got in")
	}
}

func TestPublishSubject(t *testing.T) {
	for want, subjects := range map[string][]string{
		"":                nil,
		"orders":          {"orders"},
		"payments":        {"orders.>", "payments"},
		"orders.event":    {"orders.>"},
		"a.event.b.event": {"a.*.b.*", "c.>"},
	} {
		if got := PublishSubject(subjects); got != want {
			t.Errorf("%v: got %q, want %q", subjects, got, want)
		}
	}
}

func TestReadsBatches(t *testing.T) {
	for version, want := range map[string]bool{"2.11.0": true, "2.15.3-dev": true, "3.0.0": true, "2.10.29": false, "1.20": false, "": false, "x.y": false} {
		if got := readsBatches(version); got != want {
			t.Errorf("%q: got %v", version, got)
		}
	}
}

func FuzzParseConnections(f *testing.F) {
	f.Add([]byte(`{"data":{"total":1,"connections":[{"cid":7,"ip":"127.0.0.1","port":1,"name":"outboxtest"}]}}`))
	f.Add([]byte(`{"error":{"description":"no"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		page, _, err := parseConnections(data)
		if err != nil && page != nil {
			t.Error("both an answer and an error")
		}
	})
}

func FuzzParseStored(f *testing.F) {
	f.Add("5", "2026-01-02T03:04:05.678Z", "own")
	f.Fuzz(func(t *testing.T, seq, at, own string) {
		m, err := parseStored(&nats.Msg{Header: nats.Header{headerSequence: {own, seq}, headerTime: {at}, headerSubject: {"s"}}})
		if err == nil && (m.Header.Get(headerSequence) != own || m.Subject != "s") {
			t.Errorf("got %+v", m)
		}
	})
}

func FuzzParseGot(f *testing.F) {
	f.Add([]byte(`{"message":{"subject":"s","seq":3,"hdrs":"TkFUUy8xLjANCkE6IGINCg0K","data":"YQ==","time":"2026-01-02T03:04:05.678Z"}}`))
	f.Add([]byte(`{"error":{"code":404,"err_code":10037,"description":"no message found"}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, found, err := parseGot(data)
		if found && (err != nil || m.Header == nil) {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}
