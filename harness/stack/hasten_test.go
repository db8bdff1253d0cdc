package stack

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// What comes again soon comes to a consumer that is still what its client made
// it: the client declares it again after a restart, and is refused where it
// differs.
func testHasten(t *testing.T, n *NATS) {
	const within = 50 * time.Millisecond
	s := freshStream(t, n)
	for _, data := range []string{"a", "b", "c"} {
		publish(t, n, s, data)
	}
	handle, err := stream(t, n, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []jetstream.ConsumerConfig{
		{Durable: "longer", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour},
		{Durable: "paced", AckPolicy: jetstream.AckExplicitPolicy, BackOff: []time.Duration{time.Hour, 2 * time.Hour}, MaxDeliver: 5},
		{Durable: "all", AckPolicy: jetstream.AckAllPolicy, AckWait: time.Hour},
	} {
		t.Run(config.Durable, func(t *testing.T) {
			c, err := handle.CreateConsumer(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			first := taken(t, c, 3, time.Minute)
			if err := first[0].DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Hasten(t.Context(), within); err != nil {
				t.Fatal(err)
			}
			if c, err = handle.CreateConsumer(t.Context(), config); err != nil {
				t.Fatalf("the client does not get its consumer back: %v", err)
			}
			for i, m := range taken(t, c, 2, 30*time.Second) {
				if want := []string{"b", "c"}[i]; string(m.Data()) != want {
					t.Errorf("%s came again, not %s", m.Data(), want)
				}
				if err := m.DoubleAck(t.Context()); err != nil {
					t.Error(err)
				}
			}
			info, err := c.Info(t.Context())
			if err != nil || info.NumAckPending != 0 || info.Delivered.Consumer != 5 {
				t.Errorf("the broker holds %+v, %v", info, err)
			}
		})
	}
	t.Run("acknowledged meanwhile", func(t *testing.T) {
		c, err := handle.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "slow", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		messages := taken(t, c, 3, time.Minute)
		if err := s.Hasten(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if err := m.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		info, err := c.Info(t.Context())
		if err != nil || info.NumAckPending != 0 || info.NumRedelivered != 0 || info.Delivered.Consumer != 3 {
			t.Errorf("what a slow consumer acknowledges in time came again: %+v, %v", info, err)
		}
	})
}

func taken(t *testing.T, c jetstream.Consumer, n int, wait time.Duration) []jetstream.Msg {
	t.Helper()
	batch, err := c.Fetch(n, jetstream.FetchMaxWait(wait))
	if err != nil {
		t.Fatal(err)
	}
	var messages []jetstream.Msg
	for m := range batch.Messages() {
		messages = append(messages, m)
	}
	if len(messages) != n || batch.Error() != nil {
		t.Fatalf("%d messages of %d came within %v: %v", len(messages), n, wait, batch.Error())
	}
	return messages
}
