package pgwire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

const (
	// maxStartup is the server's MAX_STARTUP_PACKET_LENGTH.
	maxStartup = 10000
	// maxMessage is the server's largest allocation, 1 GB.
	maxMessage = 1 << 30
	// tlsHandshake is the first byte of a TLS record that carries a ClientHello.
	tlsHandshake = 0x16
)

var (
	errTLS = errors.New("postgres: the connection goes on in TLS, which cannot be read; connect with sslmode=disable")
	errGSS = errors.New("postgres: the connection goes on in GSS encryption, which cannot be read; connect with gssencmode=disable")
)

// Split finds the end of the first message of p. It changes nothing: what it
// needs to know of the past (an SSLRequest that waits for its byte) is
// remembered by Read.
func (c *Conversation) Split(dir frame.Direction, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if dir == frame.FromClient {
		switch {
		case p[0] == 0:
			return splitStartup(p)
		case p[0] == tlsHandshake:
			return 0, errTLS
		case !clientType(p[0]):
			return 0, fmt.Errorf("postgres: byte %#x does not begin a client's message", p[0])
		}
		return splitTyped(p)
	}
	if c.asked > 0 {
		switch p[0] {
		case 'N':
			return 1, nil
		case 'S':
			return 0, errTLS
		case 'G':
			return 0, errGSS
		}
	}
	if !serverType(p[0]) {
		return 0, fmt.Errorf("postgres: byte %#x does not begin a server's message", p[0])
	}
	return splitTyped(p)
}

func splitStartup(p []byte) (int, error) {
	if len(p) < 4 {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(p)
	if n < 8 || n > maxStartup {
		return 0, fmt.Errorf("postgres: a start-up packet of %d bytes", n)
	}
	return int(n), nil
}

func splitTyped(p []byte) (int, error) {
	if len(p) < 5 {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(p[1:])
	if n < 4 || n > maxMessage {
		return 0, fmt.Errorf("postgres: message %q says it has %d bytes", p[0], n)
	}
	return int(n) + 1, nil
}

func clientType(b byte) bool {
	switch b {
	case 'B', 'C', 'D', 'E', 'F', 'H', 'P', 'Q', 'S', 'X', 'c', 'd', 'f', 'p':
		return true
	}
	return false
}

func serverType(b byte) bool {
	switch b {
	case '1', '2', '3', 'A', 'C', 'D', 'E', 'G', 'H', 'I', 'K', 'N', 'R', 'S', 'T', 'V', 'W', 'Z', 'c', 'd', 'n', 's', 't', 'v':
		return true
	}
	return false
}
