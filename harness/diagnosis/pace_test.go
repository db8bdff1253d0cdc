package diagnosis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

func TestPace(t *testing.T) {
	b := &builder{}
	b.add(properties.Event{Kind: properties.KindTrial, Trial: &properties.Trial{Roles: []string{"app", "relay"}}})
	at := func(d time.Duration) { b.events[len(b.events)-1].At = d }
	b.process("relay.0", "started")
	at(time.Second)
	b.open("relay.0/postgres")
	at(1500 * time.Millisecond)
	for i := range 5 {
		b.exchange("select outbox idle", nil)
		b.events[len(b.events)-2].At = time.Duration(2+2*i) * time.Second
		b.events[len(b.events)-2].Wire.Label = "select outbox"
		at(time.Duration(2+2*i)*time.Second + 100*time.Millisecond)
	}
	b.exchange("commit idle", nil)
	p := PaceOf([][]properties.Event{b.events}, targets.Manifest{})
	if p.Poll != 1900*time.Millisecond || p.Starts["relay"] != 500*time.Millisecond {
		t.Errorf("got %+v, want a poll every 1.9 s, and a start of 0.5 s", p)
	}
	p.Slowest, p.Starts["app"] = 3*time.Second, 8*time.Second
	advice := strings.Join(p.Advice(targets.Manifest{Drain: targets.Drain{Seconds: 2}}), "\n")
	for _, word := range []string{"polls every 1.9s", "the app takes 8s to start", "drain.seconds promises 2"} {
		if !strings.Contains(advice, word) {
			t.Errorf("nothing advises %q:\n%s", word, advice)
		}
	}
}

// An event's time counts from the answer to its order, or from the relay's first
// connection where that comes later.
func TestPaceOfEvents(t *testing.T) {
	b := &builder{}
	at := func(d time.Duration) { b.events[len(b.events)-1].At = d }
	b.add(properties.Event{Kind: properties.KindTrial, Trial: &properties.Trial{Roles: []string{"relay"}}})
	for i, order := range []string{"o1", "o2"} {
		b.add(properties.Event{Kind: properties.KindCall, Call: &properties.Call{Op: "place", Order: order}})
		at(time.Duration(i) * time.Second)
		b.add(properties.Event{Kind: properties.KindAnswer, Answer: &properties.Answer{Op: "place", Order: order, Outcome: properties.OK}})
		at(time.Duration(i) * time.Second)
		if i == 0 {
			b.open("relay.0/broker")
			at(300 * time.Millisecond)
		}
		b.exchange("publish", func(w *properties.Wire) { w.Order = order })
		at(time.Duration(i)*time.Second + 400*time.Millisecond)
	}
	if got := eventsOf(b.events); !slices.Equal(got, []time.Duration{100 * time.Millisecond, 400 * time.Millisecond}) {
		t.Errorf("the events took %v", got)
	}
	p := PaceOf([][]properties.Event{b.events}, targets.Manifest{})
	if p.Event != 400*time.Millisecond || p.Slowest != 400*time.Millisecond || p.Order != time.Second || p.Orders != 2 || p.Poll != 0 {
		t.Errorf("got %+v", p)
	}
}
