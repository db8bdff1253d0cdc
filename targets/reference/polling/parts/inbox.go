package parts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/outboxtest/outboxtest/targets"
)

const (
	// redeliverAfter is how long the broker waits for an acknowledgement.
	redeliverAfter = 300 * time.Millisecond
	subscribeLimit = 500 * time.Millisecond
)

// Inbox is a durable pull consumer of the trial's topic. It has a connection of
// its own, subscribes when it is first asked for a message, and subscribes
// again after a loss. Close closes it.
type Inbox struct {
	// Name is the durable's name.
	Name string

	broker   Broker
	messages jetstream.MessagesContext
}

// Next waits for a message until ctx ends. The caller acknowledges it. Neither
// a message nor an error means that the wait was interrupted and goes on with
// the next call.
func (i *Inbox) Next(ctx context.Context) (jetstream.Msg, error) {
	if i.messages == nil {
		if err := i.subscribe(ctx); err != nil {
			return nil, err
		}
	}
	msg, err := i.messages.Next(jetstream.NextContext(ctx))
	switch {
	case err == nil:
		return msg, nil
	case ctx.Err() != nil, errors.Is(err, jetstream.ErrNoHeartbeat):
		return nil, nil
	default:
		i.messages.Stop()
		i.messages = nil
		return nil, fmt.Errorf("wait for a message as %s: %w", i.Name, err)
	}
}

// subscribe makes the durable if it is not there yet.
func (i *Inbox) subscribe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, subscribeLimit)
	defer cancel()
	stream, err := setting(targets.EnvStream)
	if err != nil {
		return err
	}
	topic, err := setting(targets.EnvTopic)
	if err != nil {
		return err
	}
	js, err := i.broker.stream()
	if err != nil {
		return err
	}
	durable, err := js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Durable:       i.Name,
		FilterSubject: topic,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       redeliverAfter,
	})
	if err != nil {
		return fmt.Errorf("create the durable consumer %s on stream %s: %w", i.Name, stream, err)
	}
	i.messages, err = durable.Messages(
		jetstream.PullMaxMessages(10),
		jetstream.PullExpiry(5*time.Second),
		jetstream.PullHeartbeat(500*time.Millisecond))
	if err != nil {
		i.messages = nil
		return fmt.Errorf("pull as %s: %w", i.Name, err)
	}
	return nil
}

// Close stops pulling and closes the connection.
func (i *Inbox) Close() {
	if i.messages != nil {
		i.messages.Stop()
		i.messages = nil
	}
	i.broker.Close()
}
