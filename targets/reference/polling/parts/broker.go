package parts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/targets"
)

// ackPatience is how long a publish waits for the broker's acknowledgement.
const ackPatience = 250 * time.Millisecond

// Broker is a connection to NATS that is made when it is first needed and
// renews itself. The zero value is ready.
type Broker struct {
	mu   sync.Mutex
	conn *nats.Conn
	js   jetstream.JetStream
}

// Conn returns the connection, which need not be up: NATS keeps trying. The
// error is a bad address or none. Close closes the connection.
func (b *Broker) Conn() (*nats.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(); err != nil {
		return nil, err
	}
	return b.conn, nil
}

func (b *Broker) stream() (jetstream.JetStream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(); err != nil {
		return nil, err
	}
	return b.js, nil
}

func (b *Broker) open() error {
	if b.conn != nil {
		return nil
	}
	url, err := setting(targets.EnvBrokerURL)
	if err != nil {
		return err
	}
	conn, err := nats.Connect(url,
		nats.Name(instance()),
		nats.Timeout(500*time.Millisecond),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond),
		nats.ReconnectJitter(5*time.Millisecond, 5*time.Millisecond),
		// A publish while the connection is down fails at once instead of
		// waiting in a buffer that dies with the process.
		nats.ReconnectBufSize(-1),
		// A connection that died without a sign is noticed by its silence.
		nats.PingInterval(300*time.Millisecond),
		nats.MaxPingsOutstanding(2),
	)
	if err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return fmt.Errorf("use JetStream: %w", err)
	}
	b.conn, b.js = conn, js
	return nil
}

// Publish sends one event to the trial's topic and returns nil when the broker
// has acknowledged that it is stored. After an error it may be stored or not.
func (b *Broker) Publish(ctx context.Context, eventID string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, ackPatience)
	defer cancel()
	js, err := b.stream()
	if err != nil {
		return err
	}
	msg, err := Message(eventID, data)
	if err != nil {
		return err
	}
	if _, err := js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0)); err != nil {
		return fmt.Errorf("publish event %s: %w", eventID, err)
	}
	return nil
}

// Message is an event as it is put on the trial's topic.
func Message(eventID string, data []byte) (*nats.Msg, error) {
	topic, err := setting(targets.EnvTopic)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(topic)
	msg.Header.Set(EventIDHeader, eventID)
	msg.Data = data
	return msg, nil
}

// Close closes the connection, if there is one.
func (b *Broker) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil {
		b.conn.Close()
	}
	b.conn, b.js = nil, nil
}
