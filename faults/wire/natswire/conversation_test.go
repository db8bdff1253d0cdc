package natswire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// play runs a transcript, one frame a string: "> " from the client, "< " from
// the server. It returns the events as lines; parts that tell nothing are "part".
func play(t *testing.T, c *Conversation, transcript ...string) (out []string) {
	t.Helper()
	for _, s := range transcript {
		dir := frame.FromServer
		if strings.HasPrefix(s, "> ") {
			dir = frame.FromClient
		}
		f := []byte(s[2:])
		if n, err := c.Split(dir, f); n != len(f) || err != nil {
			t.Fatalf("Split(%q) = %d, %v; want %d", f, n, err, len(f))
		}
		events, err := c.Read(dir, f)
		if err != nil {
			t.Fatalf("Read(%q): %v", f, err)
		}
		clear(f) // nothing may be kept
		for _, e := range events {
			out = append(out, show(e))
		}
	}
	return out
}

func show(e frame.Event) string {
	var b strings.Builder
	b.WriteString([]string{"part", "request", "reply", "oneway", "push"}[e.Kind])
	add := func(when bool, format string, args ...any) {
		if when {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	add(e.Exchange != 0, "#%d", e.Exchange)
	add(e.Label != "", "%s", e.Label)
	add(e.Write, "write")
	add(e.Error != "", "error=%s", e.Error)
	add(e.Backend != 0, "backend=%d", e.Backend)
	add(e.Kind == frame.Reply && e.Rows != -1, "rows=%d", e.Rows)
	if m := e.Message; m != nil {
		add(true, "| %s", m.Subject)
		add(m.Reply != "", "reply=%s", m.Reply)
		add(m.Header != nil, "%v", m.Header)
		add(len(m.Data) > 0, "%q", m.Data)
		add(m.Sequence != 0, "seq=%d", m.Sequence)
		add(m.Consumer != "", "consumer=%s", m.Consumer)
	}
	return b.String()
}

// data writes a frame with a payload: data("PUB a", "", "x") is "PUB a 1\r\nx\r\n".
func data(line, header, payload string) string {
	if header != "" {
		return fmt.Sprintf("%s %d %d\r\n%s%s\r\n", line, len(header), len(header)+len(payload), header, payload)
	}
	return fmt.Sprintf("%s %d\r\n%s\r\n", line, len(payload), payload)
}

func TestConversation(t *testing.T) {
	const ack9 = "$JS.ACK.orders.kitchen.1.42.7.1700000000000000000.3"
	for _, c := range []struct {
		name       string
		transcript []string
		want       []string
	}{
		{"connect", []string{
			"< INFO {\"server_id\":\"x\",\"client_id\":17,\"tls_available\":true}\r\n", "> CONNECT {\"verbose\":false}\r\n", "> PING\r\n", "< PONG\r\n",
			"< PING\r\n", "> PONG\r\n", "> PING\r\n", "< PONG\r\n",
		}, []string{"part backend=17", "request #1 connect", "part", "reply #1 connect", "part", "part", "part", "part"}},
		{"connect, verbose", []string{"> connect {}\r\n", "< +OK\r\n", "> sub a 1\r\n", "< +ok\r\n"},
			[]string{"request #1 connect", "reply #1 connect", "part", "part"}},
		{"connect, refused", []string{"> CONNECT {}\r\n", "< -ERR 'Authorization Violation'\r\n"},
			[]string{"request #1 connect", "reply #1 connect error=Authorization Violation"}},
		{"a later error", []string{"> CONNECT {}\r\n", "< PONG\r\n", "< -ERR 'Permissions Violation'\r\n"},
			[]string{"request #1 connect", "reply #1 connect", "part"}},
		{"sub and unsub", []string{"> SUB a.* 1\r\n", "> SUB\ta.* q  2\r\n", "> UNSUB 1 5\r\n"}, []string{"part", "part", "part"}},
		{"core publish", []string{"> " + data("PUB orders.new", "", "hi"), "> " + data("pub orders.new", "", "")},
			[]string{`oneway #1 publish | orders.new "hi"`, "oneway #2 publish | orders.new"}},
		{"publish and acknowledgement", []string{
			"> " + data("HPUB orders.new _INBOX.a.1", "NATS/1.0\r\nevent-id: e1\r\nk: v\r\nk: w\r\n\r\n", "{}"),
			"< " + data("MSG _INBOX.a.1 1", "", `{"stream":"orders","seq":42}`),
		}, []string{
			`request #1 publish | orders.new reply=_INBOX.a.1 map[event-id:[e1] k:[v w]] "{}"`,
			`reply #1 publish write | _INBOX.a.1 "{\"stream\":\"orders\",\"seq\":42}" seq=42`,
		}},
		{"a duplicate", []string{"> " + data("PUB o _INBOX.1", "", "x"), "< " + data("MSG _INBOX.1 1", "", `{"stream":"o","seq":4,"duplicate":true}`)},
			[]string{`request #1 publish | o reply=_INBOX.1 "x"`, `reply #1 publish | _INBOX.1 "{\"stream\":\"o\",\"seq\":4,\"duplicate\":true}" seq=4`}},
		{"a refused publish", []string{"> " + data("PUB o _INBOX.1", "", "x"), "< " + data("MSG _INBOX.1 1", "", `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence"},"stream":"o","seq":0}`)},
			[]string{`request #1 publish | o reply=_INBOX.1 "x"`, `reply #1 publish error=10071: wrong last sequence | _INBOX.1 "{\"error\":{\"code\":400,\"err_code\":10071,\"description\":\"wrong last sequence\"},\"stream\":\"o\",\"seq\":0}"`}},
		{"no responders", []string{"> " + data("PUB o _INBOX.1", "", "x"), "< " + data("HMSG _INBOX.1 1", "NATS/1.0 503\r\n\r\n", "")},
			[]string{`request #1 publish | o reply=_INBOX.1 "x"`, "reply #1 publish error=503: no responders | _INBOX.1"}},
		{"a core request", []string{"> " + data("PUB svc _INBOX.1", "", "x"), "< " + data("MSG _INBOX.1 1", "", "pong")},
			[]string{`request #1 publish | svc reply=_INBOX.1 "x"`, `reply #1 publish | _INBOX.1 "pong"`}},
		{"replies out of order", []string{"> " + data("PUB o _INBOX.1", "", ""), "> " + data("PUB o _INBOX.2", "", ""),
			"< " + data("MSG _INBOX.2 1", "", "{}"), "< " + data("MSG _INBOX.1 1", "", "{}"), "< " + data("MSG _INBOX.1 1", "", "{}")},
			[]string{"request #1 publish | o reply=_INBOX.1", "request #2 publish | o reply=_INBOX.2", `reply #2 publish | _INBOX.2 "{}"`, `reply #1 publish | _INBOX.1 "{}"`, `push #3 deliver | _INBOX.1 "{}"`}},
		{"one reply subject for all", []string{"> " + data("PUB o _INBOX.1", "", ""), "> " + data("PUB o _INBOX.1", "", ""),
			"< " + data("MSG _INBOX.1 1", "", ""), "< " + data("MSG _INBOX.1 1", "", "")},
			[]string{"request #1 publish | o reply=_INBOX.1", "request #2 publish | o reply=_INBOX.1", "reply #1 publish | _INBOX.1", "reply #2 publish | _INBOX.1"}},
		{"pull, delivery, ack", []string{
			"> " + data("PUB $JS.API.CONSUMER.MSG.NEXT.orders.kitchen _INBOX.p", "", `{"batch":1}`),
			"< " + data("MSG orders.new 3 "+ack9, "", "x"),
			"< " + data("HMSG orders.new 3 "+ack9, "NATS/1.0\r\nevent-id:e1\r\n\r\n", "x"),
			"< " + data("HMSG _INBOX.p 3", "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 1\r\n\r\n", ""),
			"< " + data("HMSG _INBOX.p 3", "NATS/1.0 100 Idle Heartbeat\r\n\r\n", ""),
			"> " + data("PUB "+ack9, "", "+ACK"), "> " + data("PUB "+ack9, "", ""), "> " + data("PUB "+ack9, "", `-NAK {"delay":5}`),
			"> " + data("PUB "+ack9, "", "+TERM because"), "> " + data("PUB "+ack9, "", "+WPI"), "> " + data("PUB "+ack9+" _INBOX.n", "", "+NXT"),
		}, []string{
			`oneway #1 pull | $JS.API.CONSUMER.MSG.NEXT.orders.kitchen reply=_INBOX.p "{\"batch\":1}"`,
			`push #2 deliver | orders.new reply=` + ack9 + ` "x" seq=42 consumer=kitchen`,
			`push #3 deliver | orders.new reply=` + ack9 + ` map[event-id:[e1]] "x" seq=42 consumer=kitchen`,
			"part", "part",
			`oneway #4 ack | ` + ack9 + ` "+ACK" seq=42 consumer=kitchen`, `oneway #5 ack | ` + ack9 + ` seq=42 consumer=kitchen`,
			`oneway #6 nak | ` + ack9 + ` "-NAK {\"delay\":5}" seq=42 consumer=kitchen`, `oneway #7 term | ` + ack9 + ` "+TERM because" seq=42 consumer=kitchen`,
			`oneway #8 progress | ` + ack9 + ` "+WPI" seq=42 consumer=kitchen`, `oneway #9 ack | ` + ack9 + ` reply=_INBOX.n "+NXT" seq=42 consumer=kitchen`,
		}},
		{"a delivery and a heartbeat where a reply is awaited", []string{"> " + data("PUB o _INBOX.1", "", ""), "< " + data("MSG _INBOX.1 1 "+ack9, "", "x"),
			"< " + data("HMSG _INBOX.1 1", "NATS/1.0 100\r\n\r\n", ""), "< " + data("MSG _INBOX.1 1", "", "")},
			[]string{"request #1 publish | o reply=_INBOX.1", "push #2 deliver | _INBOX.1 reply=" + ack9 + ` "x" seq=42 consumer=kitchen`, "part", "reply #1 publish | _INBOX.1"}},
		{"a confirmed ack", []string{"> " + data("PUB "+ack9+" _INBOX.1", "", "+ACK"), "< " + data("MSG _INBOX.1 1", "", "")},
			[]string{"request #1 ack | " + ack9 + ` reply=_INBOX.1 "+ACK" seq=42 consumer=kitchen`, "reply #1 ack | _INBOX.1"}},
		{"api", []string{"> " + data("PUB $JS.API.STREAM.INFO.ORDERS _INBOX.1", "", ""),
			"< " + data("MSG _INBOX.1 1", "", `{"error":{"code":404,"description":"not\nfound"}}`),
			"> " + data("PUB $JS.API.DIRECT.GET.ORDERS _INBOX.1", "", ""), "< " + data("HMSG _INBOX.1 1", "NATS/1.0 404 Message Not Found\r\n\r\n", ""),
			"> " + data("PUB $JS.API.STREAM.CREATE.s _INBOX.1", "", ""), "< " + data("MSG _INBOX.1 1", "", `{"stream":"s","seq":1}`)},
			[]string{
				"request #1 api stream.info | $JS.API.STREAM.INFO.ORDERS reply=_INBOX.1",
				`reply #1 api stream.info error=404: not_found | _INBOX.1 "{\"error\":{\"code\":404,\"description\":\"not\\nfound\"}}"`,
				"request #2 api direct.get | $JS.API.DIRECT.GET.ORDERS reply=_INBOX.1", "reply #2 api direct.get error=404: Message Not Found | _INBOX.1",
				"request #3 api stream.create | $JS.API.STREAM.CREATE.s reply=_INBOX.1", `reply #3 api stream.create | _INBOX.1 "{\"stream\":\"s\",\"seq\":1}"`,
			}},
		{"a service", []string{"< " + data("MSG svc 1 _INBOX.q", "", "x"), "> " + data("PUB _INBOX.q", "", "y"), "> " + data("PUB $SRV.PING _INBOX.1", "", ""), "> " + data("PUB $SYS.X", "", "")},
			[]string{`push #1 deliver | svc reply=_INBOX.q "x"`, `oneway #2 reply | _INBOX.q "y"`, "request #3 request | $SRV.PING reply=_INBOX.1", "oneway #4 reply | $SYS.X"}},
		{"core delivery and flow control", []string{"< " + data("MSG a.b 1", "", "x"), "> " + data("PUB $JS.FC.s.c.1", "", "")},
			[]string{`push #1 deliver | a.b "x"`, "oneway #2 flow | $JS.FC.s.c.1"}},
		{"a malformed header", []string{"> " + data("HPUB a", "NATS/1.0\r\nnonsense\r\n\r\n", "x"), "> " + data("HPUB a", "junk", "x"), "> " + data("HPUB a", "NATS/1.0\r\nk: v", "x")},
			[]string{`oneway #1 publish | a "x"`, `oneway #2 publish | a "x"`, `oneway #3 publish | a "x"`}},
		{"bare line feeds", []string{"> PING\n", "> PUB a 1\nx\r\n"}, []string{"part", `oneway #1 publish | a "x"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := play(t, New(), c.transcript...)
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		dir  frame.Direction
		p    string
		want int
		err  string
	}{
		{frame.FromClient, "", 0, ""},
		{frame.FromClient, "P", 0, ""},
		{frame.FromClient, "PING", 0, ""},
		{frame.FromClient, "PING\r", 0, ""},
		{frame.FromClient, "PING\r\nPI", 6, ""},
		{frame.FromClient, "PUB a 100\r\n", 113, ""}, // from the control line alone
		{frame.FromClient, "HPUB a 12 100\r\n", 117, ""},
		{frame.FromServer, "HMSG a 1 r 12 100\r\n", 121, ""},
		{frame.FromClient, "PUB a\r\n", 0, "cannot be read"},
		{frame.FromClient, "PUB a b c 1\r\n", 0, "cannot be read"},
		{frame.FromClient, "PUB a b c d e f g 1\r\n", 0, "cannot be read"},
		{frame.FromClient, "PUB a -1\r\n", 0, "cannot be read"},
		{frame.FromClient, "PUB a 9999999999\r\n", 0, "cannot be read"},
		{frame.FromClient, "PUB a 999999999\r\n", 0, "cannot be read"},
		{frame.FromClient, "HPUB a 5 4\r\n", 0, "cannot be read"},
		{frame.FromClient, "PUBLISH a 1\r\n", 0, "begins no message"},
		{frame.FromClient, "MSG a 1 1\r\n", 0, "begins no message"},
		{frame.FromClient, "\r\n", 0, "begins no message"},
		{frame.FromServer, "PUB a 1\r\n", 0, "begins no message"},
		{frame.FromServer, "+", 0, ""},
		{frame.FromServer, "HTTP/1.1", 0, "begins no message"},
		{frame.FromClient, "\x16\x03\x01", 0, "TLS"},
		{frame.FromServer, "INFO {\"tls_required\":true", 0, ""},
		{frame.FromServer, "INFO {\"tls_required\":true}\r\n", 0, "TLS"},
		{frame.FromServer, "INFO nonsense\r\n", 15, ""},
		{frame.FromServer, "INFO " + strings.Repeat("x", maxLine), 0, "control line of more than"},
	} {
		n, err := New().Split(c.dir, []byte(c.p))
		if n != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("Split(%d, %.40q) = %d, %v; want %d, %q", c.dir, c.p, n, err, c.want, c.err)
		}
	}
	for _, f := range []string{"", "PI", "nonsense\r\n"} {
		if _, err := New().Read(frame.FromClient, []byte(f)); err == nil {
			t.Errorf("Read(%q) is no error", f)
		}
	}
}

func TestAPILabels(t *testing.T) {
	for api, want := range map[string]string{
		"INFO": "info", "STREAM.CREATE.INFO": "stream.create", "STREAM.NAMES": "stream.names", "STREAM.MSG.GET.GET": "stream.msg.get",
		"STREAM.LEADER.STEPDOWN.s": "stream.leader.stepdown", "CONSUMER.CREATE.s.c.f.g": "consumer.create", "CONSUMER.CREATE.MSG": "consumer.create",
		"CONSUMER.DURABLE.CREATE.s.c": "consumer.durable.create", "CONSUMER.INFO.s.c": "consumer.info", "DIRECT.GET.s.a.b": "direct.get",
		"ACCOUNT.STREAM.MOVE.a.b": "account.stream.move", "ACCOUNT.PURGE.a": "account.purge", "META.LEADER.STEPDOWN": "meta.leader.stepdown",
		"SERVER.REMOVE": "server.remove", "STREAM.unknown": "stream", "STREAM.MSG.what": "stream.msg", "DIRECT.x": "direct", "what\x00.is.this": "other", "": "other",
	} {
		if got := apiLabel(api); got != want {
			t.Errorf("apiLabel(%q) = %q, want %q", api, got, want)
		}
	}
	for subject, want := range map[string]string{
		"$JS.API.STREAM.INFO.s": "api stream.info", "$JS.hub.API.STREAM.INFO.s": "api stream.info", "$JS.hub.API.CONSUMER.MSG.NEXT.s.c": "pull",
		"$JS.EVENT.x": "publish", "$KV.bucket.key": "publish", "orders.$JS.API.x": "publish",
	} {
		if got, _ := labelOf(&frame.Message{Subject: subject}); got != want {
			t.Errorf("labelOf(%q) = %q, want %q", subject, got, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		subject  string
		sequence uint64
		consumer string
	}{
		{"$JS.ACK.s.c.1.42.7.1700000000000000000.3", 42, "c"},
		{"$JS.ACK._.acchash.s.c.1.42.7.1700000000000000000.3.rAnD", 42, "c"},
		{"$JS.ACK.hub.acchash.s.c.1.42.7.1700000000000000000.3", 42, "c"},
		{"$JS.ACK.s.c.1.x.7.1.3", 0, ""},
		{"$JS.ACK.s.c", 0, ""},
		{"$JS.ACK." + strings.Repeat("1.", 20), 0, ""},
	} {
		if sequence, consumer := origin(c.subject); sequence != c.sequence || consumer != c.consumer {
			t.Errorf("origin(%q) = %d, %q; want %d, %q", c.subject, sequence, consumer, c.sequence, c.consumer)
		}
	}
}

func TestStatusError(t *testing.T) {
	for status, want := range map[string]string{
		"503": "503: no responders", "404": "404: not found", "408": "408: timeout", "409": "409: status", "409 Leadership\x00Change": "409: Leadership_Change",
	} {
		if got := statusError(status); got != want {
			t.Errorf("statusError(%q) = %q, want %q", status, got, want)
		}
	}
	if got := oneLine(strings.Repeat("é", 300)); len(got) > 400 {
		t.Errorf("oneLine gives %d bytes", len(got))
	}
}

func TestWaitingIsBounded(t *testing.T) {
	c := New()
	for i := range 3 * maxWaiting {
		play(t, c, "> "+data(fmt.Sprint("PUB o _INBOX.", i), "", ""))
		play(t, c, "> "+data("PUB o _INBOX.same", "", ""))
	}
	total := 0
	for _, list := range c.waiting.on {
		total += len(list)
	}
	if total != maxWaiting || len(c.waiting.ring) != maxWaiting {
		t.Errorf("%d exchanges wait, %d subjects are kept, want %d", total, len(c.waiting.ring), maxWaiting)
	}
	if got := play(t, c, "< "+data("MSG _INBOX.0 1", "", "")); got[0] != fmt.Sprintf("push #%d deliver | _INBOX.0", 6*maxWaiting+1) {
		t.Errorf("the oldest is not forgotten: %s", got)
	}
	last := 3*maxWaiting - 1
	if got := play(t, c, "< "+data(fmt.Sprint("MSG _INBOX.", last, " 1"), "", "")); got[0] != fmt.Sprintf("reply #%d publish | _INBOX.%d", 2*last+1, last) {
		t.Errorf("the newest is forgotten: %s", got)
	}
	// A subject that was answered and is used again is not forgotten too early.
	play(t, c, "> "+data("PUB o again", "", ""), "< "+data("MSG again 1", "", ""), "> "+data("PUB o again", "", ""))
	for i := range maxWaiting - 1 {
		play(t, c, "> "+data(fmt.Sprint("PUB o _INBOX.b", i), "", ""))
	}
	if got := play(t, c, "< "+data("MSG again 1", "", "")); !strings.HasPrefix(got[0], "reply") {
		t.Errorf("a subject used again is forgotten too early: %s", got)
	}
	long := strings.Repeat("x", maxSubject+1)
	play(t, c, "> "+data("PUB o "+long, "", ""))
	if _, found := c.waiting.take(long); found {
		t.Error("a reply subject of more than 4096 bytes is kept")
	}
}

func TestLongMessageIsSeenInPart(t *testing.T) {
	c := New()
	f := []byte(data("PUB o", "", strings.Repeat("x", 2*frame.MaxRead)))
	if n, err := c.Split(frame.FromClient, f[:20]); n != len(f) || err != nil {
		t.Fatalf("Split = %d, %v; want %d", n, err, len(f))
	}
	events, err := c.Read(frame.FromClient, f[:frame.MaxRead])
	if err != nil || len(events) != 1 || len(events[0].Message.Data) != frame.MaxRead-len("PUB o 2097152\r\n") {
		t.Fatalf("Read of the first bytes: %v", err)
	}
	f = []byte(data("HPUB o", "NATS/1.0\r\nk: "+strings.Repeat("v", frame.MaxRead)+"\r\n\r\n", "x"))
	if events, err = c.Read(frame.FromClient, f[:frame.MaxRead]); err != nil || len(events[0].Message.Header) != 0 || len(events[0].Message.Data) != 0 {
		t.Fatalf("Read of the first bytes of a long header: %v", err)
	}
}
