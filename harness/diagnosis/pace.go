package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// Pace is what fault-free trials tell of how fast a target goes. What they do not
// tell is 0.
type Pace struct {
	// Starts are the median times from the start of an instance until it was ready,
	// or, without a ready rule, until it opened its first connection, by role.
	Starts map[string]time.Duration `json:"starts_ns,omitempty"`
	// Poll is the median time from a poll of the relay that found nothing to the next.
	Poll time.Duration `json:"poll_ns,omitempty"`
	// Event is the median time from the answer to an order to the broker's confirmation
	// of its event, and Slowest the longest; of orders whose relay ran by then.
	Event   time.Duration `json:"event_ns,omitempty"`
	Slowest time.Duration `json:"slowest_ns,omitempty"`
	// Trial is the mean time that one trial took. Orders is how many orders it
	// placed, and Order the mean time from an order to the next.
	Trial  time.Duration `json:"trial_ns,omitempty"`
	Orders int           `json:"orders,omitempty"`
	Order  time.Duration `json:"order_ns,omitempty"`
	// AckWait is the longest that a consumer has the broker wait for an acknowledgement
	// before it delivers again; whoever looked at the broker fills it in.
	AckWait time.Duration `json:"ack_wait_ns,omitempty"`
}

// PaceOf measures histories of trials without faults.
func PaceOf(histories [][]properties.Event, m targets.Manifest) Pace {
	p := Pace{}
	starts := map[string][]time.Duration{}
	var polls, events, orders []time.Duration
	for _, h := range histories {
		for role, list := range startsOf(h) {
			starts[role] = append(starts[role], list...)
		}
		polls = append(polls, pollsOf(h, m.Relay.InApp)...)
		events = append(events, eventsOf(h)...)
		if step, n := ordersOf(h); n > 1 {
			orders = append(orders, step)
			p.Orders = max(p.Orders, n)
		}
	}
	for role, list := range starts {
		if p.Starts == nil {
			p.Starts = map[string]time.Duration{}
		}
		p.Starts[role] = median(list)
	}
	p.Poll, p.Event, p.Order = median(polls), median(events), median(orders)
	if len(events) > 0 {
		p.Slowest = slices.Max(events)
	}
	return p
}

func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// startsOf are the times that the starts of the target's own instances took.
func startsOf(h []properties.Event) map[string][]time.Duration {
	own := map[string]bool{}
	started, first := map[string]time.Duration{}, map[string]time.Duration{}
	up := map[string]bool{} // by ready, which outranks a connection
	for _, e := range h {
		switch {
		case e.Trial != nil:
			for _, role := range e.Trial.Roles {
				own[role] = true
			}
		case e.Process != nil && e.Process.What == "started":
			if _, known := started[e.Process.Instance]; !known {
				started[e.Process.Instance] = e.At
			}
		case e.Process != nil && e.Process.What == "ready" && !up[e.Process.Instance]:
			up[e.Process.Instance] = true
			first[e.Process.Instance] = e.At
		case e.Wire != nil && e.Wire.What == properties.WireOpen:
			if name := properties.InstanceOf(e.Wire.Link); first[name] == 0 {
				first[name] = e.At
			}
		}
	}
	times := map[string][]time.Duration{}
	for name, at := range first {
		role, _, _ := strings.Cut(name, ".")
		if begun, known := started[name]; known && own[role] && at > begun {
			times[role] = append(times[role], at-begun)
		}
	}
	return times
}

// pollsOf are the times between a poll of a relay that found nothing and the next
// poll of that relay, of the statement that it polls with most often.
func pollsOf(h []properties.Event, inApp bool) []time.Duration {
	role := targets.RoleRelay
	if inApp {
		role = targets.RoleApp
	}
	idle := map[string]int{}
	for _, e := range h {
		if label, is := idlePoll(e.Wire, role); is {
			idle[label]++
		}
	}
	poll := ""
	for label, n := range idle {
		if poll == "" || n > idle[poll] || n == idle[poll] && label < poll {
			poll = label
		}
	}
	if poll == "" {
		return nil
	}
	var gaps []time.Duration
	waits := map[string]time.Duration{} // by link: since when it waits for its next poll
	for _, e := range h {
		w := e.Wire
		if w == nil || properties.RoleOf(w.Link) != role || properties.ServerOf(w.Link) != postgres {
			continue
		}
		switch label, isIdle := idlePoll(w, role); {
		case w.What == properties.WireRequest && strings.TrimSuffix(w.Label, " idle") == poll:
			if since, waiting := waits[w.Link]; waiting {
				gaps = append(gaps, e.At-since)
				delete(waits, w.Link)
			}
		case isIdle && label == poll:
			waits[w.Link] = e.At
		}
	}
	return gaps
}

// idlePoll is the label of a statement that found nothing. The ends of its
// transaction are no polls of their own.
func idlePoll(w *properties.Wire, role string) (label string, is bool) {
	if w == nil || w.What != properties.WireReply || properties.RoleOf(w.Link) != role || properties.ServerOf(w.Link) != postgres {
		return "", false
	}
	label, is = strings.CutSuffix(w.Label, " idle")
	verb, _, _ := strings.Cut(label, " ")
	return label, is && verb != "commit" && verb != "rollback" && verb != "begin"
}

// eventsOf are the times from the answers to orders to the confirmations of their
// events. The relays of a batch are let go only after the last answer.
func eventsOf(h []properties.Event) []time.Duration {
	answered := map[string]time.Duration{}
	begun := time.Duration(0) // when the first relay had a connection
	type key struct {
		conn     int
		exchange uint64
	}
	carries := map[key]string{}
	var times []time.Duration
	confirm := func(order string, at time.Duration) {
		since, known := answered[order]
		if !known || order == "" {
			return
		}
		delete(answered, order)
		times = append(times, max(at-max(since, begun), 0))
	}
	for _, e := range h {
		switch w := e.Wire; {
		case e.Answer != nil && e.Answer.Outcome == properties.OK:
			answered[e.Answer.Order] = e.At
		case w == nil:
		case w.What == properties.WireOpen && properties.RoleOf(w.Link) == targets.RoleRelay && begun == 0:
			begun = e.At
		case w.Label != "publish":
		case w.What == properties.WireRequest:
			carries[key{w.Conn, w.Exchange}] = w.Order
		case w.What == properties.WireOneWay:
			confirm(w.Order, e.At)
		case w.What == properties.WireReply && w.Error == "":
			confirm(carries[key{w.Conn, w.Exchange}], e.At)
		}
	}
	return times
}

// ordersOf is the mean time from one order to the next.
func ordersOf(h []properties.Event) (step time.Duration, n int) {
	var first, last time.Duration
	for _, e := range h {
		if e.Call == nil {
			continue
		}
		if n == 0 {
			first = e.At
		}
		last, n = e.At, n+1
	}
	if n < 2 {
		return 0, n
	}
	return (last - first) / time.Duration(n-1), n
}

// Advice says which settings to lower so that a sweep takes less time, and what of
// the manifest does not fit the pace.
func (p Pace) Advice(m targets.Manifest) []string {
	var list []string
	if p.Poll > time.Second {
		list = append(list, fmt.Sprintf("the relay polls every %s: lower its poll interval for the tests, to 100ms or so, because every trial waits for several polls", round(p.Poll)))
	}
	if p.AckWait > 5*time.Second {
		list = append(list, fmt.Sprintf("a consumer's ack_wait is %s: nothing need be changed, the harness has the broker deliver again sooner in trials with a fault", round(p.AckWait)))
	}
	for _, role := range []string{targets.RoleApp, targets.RoleRelay, targets.RoleConsumer} {
		if start := p.Starts[role]; start > time.Second {
			list = append(list, fmt.Sprintf("the %s takes %s to start: cells share a trial where they can (--chain), and the others wait for it each", role, round(start)))
		}
	}
	promised := m.Drain.Time()
	switch {
	case p.Slowest > promised:
		list = append(list, fmt.Sprintf("an event took %s and drain.seconds promises %g: raise it, or what is only late may be called lost", round(p.Slowest), m.Drain.Seconds))
	case promised > 5*time.Second && m.Pending == "" && p.Slowest > 0:
		list = append(list, fmt.Sprintf("drain.seconds promises %g and an event took %s: without a pending query each loss is proved by ten times the promise; add pending, or lower leases and promise less", m.Drain.Seconds, round(p.Slowest)))
	}
	return list
}
