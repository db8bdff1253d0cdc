package natswire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

const (
	// maxLine bounds a control line. A server's default for a client is 4 KiB, but
	// INFO and CONNECT can be longer.
	maxLine = frame.MaxRead
	// maxPayload is more than any server allows (max_payload, by default 1 MiB,
	// at most 64 MiB).
	maxPayload = 1 << 28
	// tlsHandshake is the first byte of a TLS record that carries a ClientHello.
	tlsHandshake = 0x16
)

var errTLS = errors.New("nats: the connection goes on in TLS, which cannot be read; use a server without tls")

// verb is what a control line begins with.
type verb uint8

const (
	none verb = iota
	info
	connect
	pub
	hpub
	sub
	unsub
	msg
	hmsg
	ping
	pong
	ok
	fail
)

// spelling is a verb as it is written, in upper case.
type spelling struct {
	text string
	verb verb
}

// spoken reports the verbs of one side.
func spoken(dir frame.Direction) []spelling {
	if dir == frame.FromClient {
		return []spelling{{"PUB", pub}, {"HPUB", hpub}, {"SUB", sub}, {"UNSUB", unsub}, {"PING", ping}, {"PONG", pong}, {"CONNECT", connect}}
	}
	return []spelling{{"MSG", msg}, {"HMSG", hmsg}, {"PING", ping}, {"PONG", pong}, {"INFO", info}, {"+OK", ok}, {"-ERR", fail}}
}

// verbOf reads the verb at the start of p. It is none with maybe set while p
// is too short to tell, and none without it when p begins with no verb.
func verbOf(dir frame.Direction, p []byte) (v verb, rest []byte, maybe bool) {
	for _, s := range spoken(dir) {
		n := min(len(p), len(s.text))
		if !sameVerb(p[:n], s.text[:n]) {
			continue
		}
		if n < len(s.text) {
			maybe = true
			continue
		}
		if len(p) == n {
			return none, nil, true
		}
		if b := p[n]; b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' {
			continue
		}
		return s.verb, p[n:], false
	}
	return none, nil, maybe
}

// sameVerb compares letters without case.
func sameVerb(p []byte, upper string) bool {
	for i, b := range p {
		if b >= 'a' && b <= 'z' {
			b -= 'a' - 'A'
		}
		if b != upper[i] {
			return false
		}
	}
	return true
}

// line is a control line taken apart.
type line struct {
	verb   verb
	fields [6][]byte
	count  int
	text   []byte // behind the verb, trimmed
	size   int    // of the line, with its end
	header int    // bytes of headers, counted in data
	data   int    // bytes behind the line, without their CR LF
}

// last returns the field that is n from the end, or nil.
func (l *line) last(n int) []byte {
	if i := l.count - 1 - n; i >= 0 {
		return l.fields[i]
	}
	return nil
}

// read takes the control line at the start of p apart. A size of 0 means that p
// is too short.
func read(dir frame.Direction, p []byte) (l line, err error) {
	if len(p) > 0 && p[0] == tlsHandshake {
		return l, errTLS
	}
	v, rest, maybe := verbOf(dir, p)
	if v == none {
		if maybe || len(p) == 0 {
			return l, nil
		}
		return l, fmt.Errorf("nats: %.20q begins no message", p)
	}
	end := bytes.IndexByte(rest, '\n')
	if end < 0 {
		if len(p) > maxLine {
			return l, fmt.Errorf("nats: a control line of more than %d bytes", maxLine)
		}
		return l, nil
	}
	l.verb, l.size = v, len(p)-len(rest)+end+1
	l.text = bytes.Trim(rest[:end], " \t\r")
	least := 0
	switch v {
	case pub:
		least = 2
	case hpub, msg:
		least = 3
	case hmsg:
		least = 4
	default:
		return l, nil
	}
	if err := l.split(least); err != nil {
		return l, err
	}
	return l, nil
}

// split reads the fields of a line that announces data. One field, the reply
// subject, may be there or not.
func (l *line) split(least int) error {
	bad := func() error { return fmt.Errorf("nats: the control line %.80q cannot be read", l.text) }
	for rest := l.text; len(rest) > 0; {
		n := bytes.IndexAny(rest, " \t")
		if n < 0 {
			n = len(rest)
		}
		if l.count == len(l.fields) {
			return bad()
		}
		l.fields[l.count] = rest[:n]
		l.count++
		rest = bytes.TrimLeft(rest[n:], " \t")
	}
	if l.count != least && l.count != least+1 {
		return bad()
	}
	var good bool
	if l.data, good = number(l.last(0)); !good {
		return bad()
	}
	if l.verb == hpub || l.verb == hmsg {
		if l.header, good = number(l.last(1)); !good || l.header > l.data {
			return bad()
		}
	}
	return nil
}

// number reads a byte count.
func number(b []byte) (n int, good bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n <= maxPayload
}

// Split finds the end of the first message of p from its control line alone.
// It keeps no state.
func (c *Conversation) Split(dir frame.Direction, p []byte) (int, error) {
	l, err := read(dir, p)
	if err != nil || l.size == 0 {
		return 0, err
	}
	switch l.verb {
	case info:
		var told serverInfo
		if json.Unmarshal(l.text, &told) == nil && told.TLSRequired {
			return 0, errTLS
		}
	case pub, hpub, msg, hmsg:
		return l.size + l.data + len("\r\n"), nil
	}
	return l.size, nil
}

// serverInfo is what matters of INFO.
type serverInfo struct {
	ClientID    uint64 `json:"client_id"`
	TLSRequired bool   `json:"tls_required"`
}
