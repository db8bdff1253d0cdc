package trial

import (
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// A relay that reads the same row again is idle when it does nothing with it, and
// at work when it publishes it each time.
func TestWhatIsReadAgainIsAPollUntilTheRelayActs(t *testing.T) {
	reply := func(conn int, exchange, same uint64, e frame.Event) wire.Observation {
		e.Same, e.Idle = same, e.Idle || same != 0
		return wire.Observation{Link: faults.Link{Instance: faults.Instance{Role: "relay"}, Server: faults.Postgres},
			Conn: conn, Exchange: exchange, What: properties.WireReply, Label: "select outbox", Event: e}
	}
	read := func(conn int, exchange, same uint64) wire.Observation {
		return reply(conn, exchange, same, frame.Event{Rows: 1})
	}
	empty := func(exchange uint64) wire.Observation { return reply(1, exchange, 0, frame.Event{Idle: true}) }
	took := func(exchange, same uint64) wire.Observation {
		return reply(1, exchange, same, frame.Event{Rows: 1, Write: true})
	}
	publish := wire.Observation{Link: faults.Link{Instance: faults.Instance{Role: "relay"}, Server: faults.Broker},
		Conn: 9, Exchange: 1, What: properties.WireOneWay, Label: "publish"}
	mark := reply(2, 1, 0, frame.Event{Rows: 1, Write: true})
	for _, c := range []struct {
		name  string
		what  []wire.Observation
		polls int
		since int
	}{
		{"polls that return nothing", []wire.Observation{empty(1), empty(2)}, 2, 2},
		{"polls that return the same", []wire.Observation{read(1, 1, 0), read(1, 2, 1), read(1, 3, 2)}, 2, 2},
		{"published again and again", []wire.Observation{read(1, 1, 0), publish, read(1, 2, 1), publish, read(1, 3, 2)}, 0, 0},
		{"two reads a round, published again", []wire.Observation{read(1, 1, 0), read(1, 2, 0), publish, read(1, 3, 1), read(1, 4, 2)}, 0, 0},
		{"published, and left alone after", []wire.Observation{read(1, 1, 0), publish, read(1, 2, 1), read(1, 3, 2)}, 1, 1},
		{"marked on another connection", []wire.Observation{read(1, 1, 0), mark, read(1, 2, 1), read(1, 3, 2), mark}, 1, 0},
		{"empty behind a publish", []wire.Observation{publish, empty(1)}, 1, 1},
		{"a function that takes nothing", []wire.Observation{took(1, 0), took(2, 1), took(3, 2)}, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecorder(&targets.EventReader{}, false, time.Now)
			for _, o := range c.what {
				r.observe(o)
			}
			if got := r.tally(); got.idle != c.polls || got.idleSinceWork != c.since {
				t.Errorf("%d polls, %d since work; want %d and %d", got.idle, got.idleSinceWork, c.polls, c.since)
			}
		})
	}
}
