package wire_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/faults/wire/natswire"
)

func readNATS() frame.Conversation { return natswire.New() }

func startNATS(t testing.TB) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatal("nats-server is not ready")
	}
	return s.Addr().String()
}

func dialNATS(t testing.TB, addr string) jetstream.JetStream {
	t.Helper()
	c, err := nats.Connect("nats://"+addr, nats.NoReconnect(), nats.Timeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	c.SetClosedHandler(func(*nats.Conn) { close(closed) })
	t.Cleanup(func() {
		if !c.IsClosed() {
			c.Close()
		}
		<-closed
	})
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// TestNATS runs JetStream publishes, deliveries and acknowledgements through
// the board.
func TestNATS(t *testing.T) {
	upstream := startNATS(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	direct := dialNATS(t, upstream)
	for _, moment := range []string{"before", "unanswered", "after"} {
		for _, do := range []faults.Kind{faults.Kill, faults.Cut} {
			t.Run(string(do)+" publish "+moment, func(t *testing.T) {
				name := "S-" + string(do) + "-" + moment
				stream, err := direct.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}})
				if err != nil {
					t.Fatal(err)
				}
				r := newRun(t, "relay.0/broker", upstream, readNATS,
					faults.Fault{Do: do, At: at(t, `relay.0/broker "publish" #2 `+moment)})
				js := dialNATS(t, r.addr)
				if _, err := js.Publish(ctx, name, []byte("one")); err != nil {
					t.Fatal(err)
				}
				result := make(chan error, 1)
				go func() {
					ctx, cancel := context.WithTimeout(ctx, patience)
					defer cancel()
					_, err := js.Publish(ctx, name, []byte("two"))
					result <- err
				}()
				f := r.wait()
				var published error
				if moment == "after" && do == faults.Kill {
					// The acknowledgement is in the client's socket when the fault is
					// told. After a cut the end of the connection is right behind it,
					// and nats.go may report either.
					if published = <-result; published != nil {
						t.Errorf("publish: %v", published)
					}
				}
				if do == faults.Kill {
					r.Sever(f.Instance, false)
				}
				if moment != "after" {
					if published = <-result; published == nil {
						t.Error("publish returned no error")
					}
				}
				if moment == "after" && !slices.Contains(r.lines(), "reply publish #2") {
					t.Errorf("no reply was observed in\n%s", strings.Join(r.lines(), "\n"))
				}
				info, err := stream.Info(ctx)
				if err != nil {
					t.Fatal(err)
				}
				want := uint64(2)
				if moment == "before" {
					want = 1
				}
				if info.State.Msgs != want {
					t.Errorf("%d messages are stored, want %d", info.State.Msgs, want)
				}
			})
		}
	}

	t.Run("deliver and acknowledge", func(t *testing.T) {
		stream, err := direct.CreateStream(ctx, jetstream.StreamConfig{Name: "D", Subjects: []string{"d"}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRun(t, "consumer.0/broker", upstream, readNATS,
			faults.Fault{Do: faults.Kill, At: at(t, `consumer.0/broker "ack" #2 before`)})
		for range 3 {
			if _, err := direct.Publish(ctx, "d", []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		js := dialNATS(t, r.addr)
		consumer, err := js.CreateConsumer(ctx, "D", jetstream.ConsumerConfig{Durable: "kitchen", AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(err)
		}
		batch, err := consumer.Fetch(3, jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		for m := range batch.Messages() {
			m.Ack()
		}
		f := r.wait()
		r.Sever(f.Instance, false)
		seen, err := stream.Consumer(ctx, "kitchen")
		if err != nil {
			t.Fatal(err)
		}
		info := seen.CachedInfo()
		for end := time.Now().Add(patience); info.NumAckPending != 2; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d wait for their acknowledgement, want 2", info.NumAckPending)
			}
			if info, err = seen.Info(ctx); err != nil {
				t.Fatal(err)
			}
		}
		lines := r.lines()
		for _, want := range []string{"push deliver #3", "one-way ack #1", "held ack #2", "dropped ack #2"} {
			if !slices.Contains(lines, want) {
				t.Errorf("%q was not observed in\n%s", want, strings.Join(lines, "\n"))
			}
		}
	})
}
