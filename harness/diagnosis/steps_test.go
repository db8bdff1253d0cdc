package diagnosis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// calm is the history of a sound trial of one order, and the facts beside it.
func calm() ([]properties.Event, Facts) {
	b := &builder{}
	b.add(properties.Event{Kind: properties.KindTrial, Trial: &properties.Trial{
		Version: properties.Version, Target: "mine", Orders: []string{"o1"}, Consumers: []string{"kitchen"},
		OrderTable: "orders", Roles: []string{"app", "relay", "consumer"},
	}})
	b.process("app.0", "started").process("app.0", "ready").process("consumer.0", "started")
	b.add(properties.Event{Kind: properties.KindCall, Call: &properties.Call{Op: "place", Order: "o1", Instance: "app.0"}})
	b.open("app.0/postgres").exchange("begin", nil).exchange("insert orders", func(w *properties.Wire) { w.Write = true }).
		exchange("commit", func(w *properties.Wire) { w.Ended = "commit" })
	b.add(properties.Event{Kind: properties.KindAnswer, Answer: &properties.Answer{Op: "place", Order: "o1", Outcome: properties.OK}})
	b.ledger(properties.Ledger{Name: properties.LedgerCommitted, Committed: []properties.Row{{Order: "o1", ID: "17"}}})
	b.process("relay.0", "started")
	b.open("relay.0/postgres").exchange("select outbox", nil)
	b.open("relay.0/broker").exchange("publish", func(w *properties.Wire) { w.Order, w.EventID = "o1", "e1" })
	b.open("consumer.0/broker").message("deliver", properties.WirePush)
	b.open("consumer.0/postgres").exchange("insert effects", func(w *properties.Wire) { w.Write, w.Ended = true, "commit" })
	b.ledger(properties.Ledger{Name: properties.LedgerLog, Log: []properties.Message{{Position: 1, Order: "o1", EventID: "e1"}}})
	b.ledger(properties.Ledger{Name: properties.LedgerApplied, Applied: []properties.Effect{{EventID: "e1", Consumer: "kitchen", Count: 1}}})
	b.add(properties.Event{Kind: properties.KindDrain, Drain: &properties.Drain{Basis: properties.BasisComplete, Healthy: true, Consumers: true}})
	b.ledger(properties.Ledger{Name: properties.LedgerBackends})
	b.add(properties.Event{Kind: properties.KindQuiesced})
	b.ledger(properties.Ledger{Name: properties.LedgerCommitted, Final: true, Committed: []properties.Row{{Order: "o1", ID: "17"}}})
	b.ledger(properties.Ledger{Name: properties.LedgerLog, Final: true, Log: []properties.Message{{Position: 1, Order: "o1", EventID: "e1"}}})
	b.ledger(properties.Ledger{Name: properties.LedgerApplied, Final: true, Applied: []properties.Effect{{EventID: "e1", Consumer: "kitchen", Count: 1}}})
	b.add(properties.Event{Kind: properties.KindEnd})
	return b.events, Facts{
		Manifest: targets.Manifest{
			Name: "mine", App: targets.App{Process: targets.Process{Ready: targets.Ready{Port: true}}},
			Consumer:  &targets.Consumer{Names: []string{"kitchen"}, Applied: "SELECT 1"},
			Committed: "SELECT ref, id FROM orders", Event: targets.EventRules{Order: "body:$.order", ID: "header:Event-Id"}, Drain: targets.Drain{Polls: 3, Seconds: 2},
		},
		Subjects: []string{"orders.*"}, Whole: true,
		Stored: []Message{{Position: 1, Subject: "orders.placed", Header: map[string][]string{"Event-Id": {"e1"}}, Body: []byte(`{"order":"o1"}`)}},
	}
}

// builder writes a history.
type builder struct {
	events []properties.Event
	link   string
	conn   int
	n      uint64
	counts map[string]int
}

func (b *builder) add(e properties.Event) *builder {
	e.Seq, e.At = len(b.events)+1, time.Duration(len(b.events))*time.Millisecond
	b.events = append(b.events, e)
	return b
}

func (b *builder) process(instance, what string) *builder {
	return b.add(properties.Event{Kind: properties.KindProcess, Process: &properties.Process{Instance: instance, What: what}})
}

func (b *builder) ledger(l properties.Ledger) *builder {
	return b.add(properties.Event{Kind: properties.KindLedger, Ledger: &l})
}

func (b *builder) wire(w properties.Wire) *builder {
	w.Link, w.Conn = b.link, b.conn
	return b.add(properties.Event{Kind: properties.KindWire, Wire: &w})
}

func (b *builder) open(link string) *builder {
	b.link, b.n = link, 0
	b.conn++
	return b.wire(properties.Wire{What: properties.WireOpen})
}

func (b *builder) exchange(label string, more func(*properties.Wire)) *builder {
	b.n++
	if b.counts == nil {
		b.counts = map[string]int{}
	}
	b.counts[b.link+label]++
	request := properties.Wire{What: properties.WireRequest, Exchange: b.n, Label: label, N: b.counts[b.link+label]}
	reply := request
	reply.What = properties.WireReply
	if more != nil {
		more(&reply)
		request.Order, request.EventID = reply.Order, reply.EventID
	}
	return b.wire(request).wire(reply)
}

func (b *builder) message(label, what string) *builder {
	b.n++
	return b.wire(properties.Wire{What: what, Exchange: b.n, Label: label, N: 1})
}

// without leaves events out.
func without(h []properties.Event, is func(properties.Event) bool) []properties.Event {
	h = slices.DeleteFunc(h, is)
	for i := range h {
		h[i].Seq = i + 1
	}
	return h
}

func onLink(link string) func(properties.Event) bool {
	return func(e properties.Event) bool { return e.Wire != nil && e.Wire.Link == link }
}

func ledgers(name string, change func(*properties.Ledger)) func([]properties.Event, *Facts) []properties.Event {
	return func(h []properties.Event, _ *Facts) []properties.Event {
		for _, e := range h {
			if e.Ledger != nil && e.Ledger.Name == name {
				change(e.Ledger)
			}
		}
		return h
	}
}

var noLog = ledgers(properties.LedgerLog, func(l *properties.Ledger) { l.Log = nil })

var cases = []struct {
	name string
	vary func([]properties.Event, *Facts) []properties.Event
	// step is the one that is wrong; empty when none is.
	step string
	says []string
}{
	{"a sound one", nil, "", nil},
	{"an error of the app", func(h []properties.Event, f *Facts) []properties.Event {
		f.Failures = []Failure{{Step: App, What: "app.0 does not start", Mend: "check app.start"}}
		return h[:2]
	}, App, []string{"app.0 does not start", "check app.start"}},
	{"an error of a later step, before which nothing is known", func(h []properties.Event, f *Facts) []properties.Event {
		f.Failures = []Failure{{Step: Applied, What: "consumer.0 does not start"}}
		return h[:2]
	}, Applied, []string{"consumer.0 does not start"}},
	{"an error of a step that nobody knows", func(h []properties.Event, f *Facts) []properties.Event {
		f.Failures = []Failure{{Step: "weather", What: "it rains"}}
		return h[:2]
	}, App, []string{"it rains"}},
	{"a trial that ends before its time", func(h []properties.Event, _ *Facts) []properties.Event { return h[:2] }, App, []string{"did not come so far"}},
	{"an answer that is no", func(h []properties.Event, _ *Facts) []properties.Event {
		for _, e := range h {
			if e.Answer != nil {
				e.Answer.Outcome, e.Answer.Error = properties.Failed, "no stock"
			}
		}
		return h
	}, Order, []string{"the app refused o1: no stock", "app.place"}},
	{"no answer", func(h []properties.Event, _ *Facts) []properties.Event {
		for _, e := range h {
			if e.Answer != nil {
				e.Answer.Outcome, e.Answer.Error = properties.Unknown, "no answer"
			}
		}
		return h
	}, Order, []string{"nobody knows what became of o1"}},
	{"an app that writes elsewhere", func(h []properties.Event, f *Facts) []properties.Event {
		h = ledgers(properties.LedgerCommitted, func(l *properties.Ledger) { l.Committed = nil })(h, f)
		return without(h, onLink("app.0/postgres"))
	}, Committed, []string{"nothing passed between the app and its proxy to Postgres", "{{.Postgres.URL}}"}},
	{"an app that does not commit", func(h []properties.Event, f *Facts) []properties.Event {
		h = ledgers(properties.LedgerCommitted, func(l *properties.Ledger) { l.Committed = nil })(h, f)
		return without(h, func(e properties.Event) bool { return e.Wire != nil && e.Wire.Label == "commit" })
	}, Committed, []string{"its transaction was not committed", "HTTP 202"}},
	{"rows that name no order", ledgers(properties.LedgerCommitted, func(l *properties.Ledger) { l.Committed = []properties.Row{{Order: "17", ID: "o1"}} }),
		Committed, []string{"returns 1 row, and none names o1", "committed returned: 17 | o1"}},
	{"a relay that never connects", func(h []properties.Event, f *Facts) []properties.Event {
		h = without(noLog(h, f), onLink("relay.0/postgres"))
		return without(h, onLink("relay.0/broker"))
	}, Event, []string{"seen on neither of its proxies", "{{.Postgres.URL}}", "{{.Broker.URL}}"}},
	{"a relay past its proxy", func(h []properties.Event, f *Facts) []properties.Event {
		h = ledgers(properties.LedgerBackends, func(l *properties.Ledger) { l.Bypassed = []string{`a connection to Postgres by "relay"`} })(h, f)
		return without(noLog(h, f), onLink("relay.0/postgres"))
	}, Event, []string{"nothing passed between the relay and its proxy to Postgres", `past the proxies came a connection to Postgres by "relay"`}},
	{"a relay that has nothing to publish", func(h []properties.Event, f *Facts) []properties.Event {
		for _, e := range noLog(h, f) {
			if e.Wire != nil && e.Wire.Label == "publish" {
				e.Wire.Label = "connect"
			}
		}
		return h
	}, Event, []string{"talked to both servers and published nothing", "looks at what the app writes (orders)", "drain.seconds (2 s)"}},
	{"a relay that is not let in", func(h []properties.Event, f *Facts) []properties.Event {
		return without(noLog(h, f), func(e properties.Event) bool { return e.Wire != nil && e.Wire.Label == "publish" })
	}, Event, []string{"connected to the broker, and could not make itself understood there", "{{.Broker.Password}}"}},
	{"another subject", func(h []properties.Event, f *Facts) []properties.Event {
		f.Published = []Message{{Link: "relay.0/broker", Subject: "order.placed"}}
		return noLog(h, f)
	}, Event, []string{"a message of relay.0", `the subject "order.placed"`, `takes "orders.*"`}},
	{"an order under another name", func(h []properties.Event, f *Facts) []properties.Event {
		f.Manifest.Event.Order = "body:$.ref"
		f.Stored[0].Body = []byte(`{"data":{"my order":"web-o1","n":17}}`)
		return ledgers(properties.LedgerLog, func(l *properties.Ledger) { l.Log[0].Order, l.Log[0].Unread = "", "no order: looked for body:$.ref" })(h, f)
	}, Understood, []string{"looked for body:$.ref", `the order is at body:$.data["my order"] and at body:$.data.n`, "its body: {"}},
	{"an event of another order", ledgers(properties.LedgerLog, func(l *properties.Ledger) { l.Log[0].Order = "c9" }),
		Understood, []string{`names the order "c9"`, "committed has o1 (its row's own id is 17)"}},
	{"an event by the row's id", ledgers(properties.LedgerLog, func(l *properties.Ledger) { l.Log[0].Order = "17" }), "", nil},
	{"an effect of another consumer", ledgers(properties.LedgerApplied, func(l *properties.Ledger) { l.Applied[0].Consumer = "Kitchen" }),
		Applied, []string{`returns the consumer "Kitchen"`, `names "kitchen"`}},
	{"an effect of another event", ledgers(properties.LedgerApplied, func(l *properties.Ledger) { l.Applied[0].EventID = "17" }),
		Applied, []string{`the event id "17"`, `the log's is "e1"`, "header:Event-Id"}},
	{"nothing delivered", func(h []properties.Event, f *Facts) []properties.Event {
		h = ledgers(properties.LedgerApplied, func(l *properties.Ledger) { l.Applied = nil })(h, f)
		for _, e := range h {
			if e.Wire != nil && e.Wire.Label == "deliver" {
				e.Wire.Label = "api consumer.create"
			}
		}
		return h
	}, Applied, []string{"no message was delivered to it", "{{.Stream}}"}},
	{"a link that cannot be read", func(h []properties.Event, _ *Facts) []properties.Event {
		for _, e := range h {
			if e.Wire != nil && e.Wire.Link == "consumer.0/postgres" && e.Wire.What == properties.WireRequest {
				*e.Wire = properties.Wire{Link: e.Wire.Link, Conn: e.Wire.Conn, What: properties.WireOpaque}
			}
		}
		return h
	}, Links, []string{"consumer.0/postgres could not be read", "turn TLS off"}},
	{"a connection past the proxies", ledgers(properties.LedgerBackends, func(l *properties.Ledger) { l.Bypassed = []string{`a connection to Postgres by "x"`} }),
		Links, []string{`past the proxies came a connection to Postgres by "x"`}},
}

func TestSteps(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h, f := calm()
			if c.vary != nil {
				h = c.vary(h, &f)
			}
			steps := Steps(h, f)
			wrong, said := "", ""
			for _, s := range steps {
				if s.State == Wrong {
					wrong, said = s.Name, strings.Join(append([]string{s.What, s.Mend}, s.Evidence...), "\n")
				}
			}
			if wrong != c.step {
				t.Errorf("the step %q is wrong, want %q", wrong, c.step)
			}
			for _, word := range c.says {
				if !strings.Contains(said, word) {
					t.Errorf("nothing says %q", word)
				}
			}
			if t.Failed() {
				t.Logf("%+v", steps)
			}
		})
	}
}

// Of a trial that goes on nothing is wrong yet, however little of it is there.
func TestStepsOfTheBeginning(t *testing.T) {
	whole, f := calm()
	f.Whole = false
	before := 0
	for n := range len(whole) + 1 {
		ok := 0
		for _, s := range Steps(whole[:n], f) {
			if s.State == Wrong {
				t.Errorf("after %d events the step %s is wrong: %s", n, s.Name, s.What)
			}
			if s.State == OK {
				ok++
			}
		}
		if ok < before {
			t.Errorf("after %d events %d steps are ok, and before it were %d", n, ok, before)
		}
		before = ok
	}
	if before < 6 {
		t.Errorf("only %d steps are ok at the end", before)
	}
}

func TestTakes(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a.b.c", false}, {"a.*", "a.b", true}, {"a.*", "a", false}, {"a.*.c", "a.b.c", true},
		{"a.>", "a.b.c", true}, {"a.>", "a", false}, {">", "a", true}, {"a.b.c", "a.b", false},
	} {
		if got := takes([]string{c.pattern}, c.subject); got != c.want {
			t.Errorf("%s takes %s: %v", c.pattern, c.subject, got)
		}
	}
}
