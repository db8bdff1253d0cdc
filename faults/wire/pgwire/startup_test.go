package pgwire

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

func TestConnect(t *testing.T) {
	for name, version := range map[string]uint32{"3.0": pgproto3.ProtocolVersion30, "3.2": 3<<16 | 2} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t)
			k.client(&pgproto3.SSLRequest{})
			k.raw(frame.FromServer, []byte("N"))
			k.client(&pgproto3.GSSEncRequest{})
			k.raw(frame.FromServer, []byte("N"))
			k.client(&pgproto3.StartupMessage{ProtocolVersion: version, Parameters: map[string]string{"user": "u", "database": "d"}})
			k.raw(frame.FromServer, typed('v', "\x00\x03\x00\x00\x00\x00\x00\x00"))
			k.server(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256"}})
			k.client(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,")})
			k.server(&pgproto3.AuthenticationSASLContinue{Data: []byte("r=")})
			k.client(&pgproto3.SASLResponse{Data: []byte("c=")})
			k.server(&pgproto3.AuthenticationSASLFinal{}, &pgproto3.AuthenticationOk{},
				&pgproto3.ParameterStatus{Name: "server_version", Value: "18"},
				&pgproto3.BackendKeyData{ProcessID: 4711, SecretKey: []byte(strings.Repeat("k", 32))}, idle)
			// Of the dialogue only the client's half belongs to the exchange: the
			// server's is never kept back.
			k.wantAll("request #1 connect", "part #1", "part #1", "part backend=4711", "reply #1 connect")
		})
	}
}

func TestConnectRefused(t *testing.T) {
	k := newTalk(t)
	k.client(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "u"}})
	k.raw(frame.FromServer, typed('E', "SFATAL\x00C28P01\x00Mpassword authentication failed for user \"u\"\x00\x00"))
	k.want("request #1 connect", `reply #1 connect, error=28P01: password authentication failed for user "u"`)
}

func TestCancelRequest(t *testing.T) {
	k := newTalk(t)
	k.client(&pgproto3.CancelRequest{ProcessID: 1, SecretKey: []byte("keys")})
	k.want("part cancel")
	k = newTalk(t)
	k.raw(frame.FromClient, untyped(80877102, "\x00\x00\x00\x01"+strings.Repeat("k", 32))) // 3.2
	k.want("part cancel")
}

func TestEncryptionIsAnError(t *testing.T) {
	for _, c := range []struct {
		ask    pgproto3.FrontendMessage
		answer string
		want   error
	}{
		{&pgproto3.SSLRequest{}, "S", errTLS},
		{&pgproto3.GSSEncRequest{}, "G", errGSS},
	} {
		k := newTalk(t)
		k.client(c.ask)
		if _, err := k.c.Split(frame.FromServer, []byte(c.answer)); !errors.Is(err, c.want) {
			t.Errorf("Split behind %T = %v, want %v", c.ask, err, c.want)
		}
	}
	if _, err := New().Split(frame.FromClient, []byte{0x16, 3, 1}); !errors.Is(err, errTLS) {
		t.Errorf("TLS without asking: %v, want %v", err, errTLS)
	}
	// An overloaded server answers with an error instead of a byte.
	k := newTalk(t)
	k.client(&pgproto3.SSLRequest{})
	k.raw(frame.FromServer, typed('E', "SFATAL\x00C53300\x00Mtoo many\x00\x00"))
	k.want()
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		dir  frame.Direction
		p    string
		want int
		err  string
	}{
		{frame.FromClient, "", 0, ""},
		{frame.FromClient, "\x00\x00\x00", 0, ""},
		{frame.FromClient, "\x00\x00\x00\x08", 8, ""},
		{frame.FromClient, "\x00\x00\x00\x07", 0, "start-up packet of 7 bytes"},
		{frame.FromClient, "\x00\x00\xff\xff", 0, "start-up packet of 65535 bytes"},
		{frame.FromClient, "Q\x00\x00\x00", 0, ""},
		{frame.FromClient, "Q\x00\x00\x01\x00", 257, ""},
		{frame.FromClient, "Q\x00\x00\x00\x03", 0, `message 'Q' says it has 3 bytes`},
		{frame.FromClient, "Q\xff\xff\xff\xff", 0, `message 'Q' says it has 4294967295 bytes`},
		{frame.FromClient, "Z", 0, "does not begin a client's message"},
		{frame.FromServer, "Z\x00\x00\x00\x05I", 6, ""},
		{frame.FromServer, "Q", 0, "does not begin a server's message"},
		{frame.FromServer, "N\x00", 0, ""}, // a notice, since nobody asked for TLS
		{frame.FromServer, "D\x3f\xff\xff\xff", 1 << 30, ""},
	} {
		n, err := New().Split(c.dir, []byte(c.p))
		if n != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("Split(%d, %q) = %d, %v; want %d, %q", c.dir, c.p, n, err, c.want, c.err)
		}
	}
}

func TestUnreadableStartup(t *testing.T) {
	c := New()
	if _, err := c.Read(frame.FromClient, untyped(2<<16, "")); err == nil || !strings.Contains(err.Error(), "protocol 2.0") {
		t.Errorf("protocol 2.0: %v", err)
	}
	k := readyTalk(t)
	if _, err := k.c.Read(frame.FromClient, untyped(3<<16, "")); err == nil || !strings.Contains(err.Error(), "mid-conversation") {
		t.Errorf("a second startup message: %v", err)
	}
	for _, dir := range []frame.Direction{frame.FromClient, frame.FromServer} {
		if _, err := k.c.Read(dir, []byte("Q")); err == nil {
			t.Errorf("a frame of one byte in direction %d is no error", dir)
		}
	}
}
