package trial

import (
	"errors"
	"net"
	"strconv"
	"testing"
)

func TestPortsAreDrawnBelowTheSystemsRange(t *testing.T) {
	for _, c := range []struct {
		text string
		high int
	}{
		{"32768\t60999\n", 32768},
		{"49152 65535", 49152},
		{"1024\t65535\n", lowPort},  // nothing is below it
		{"12000\t65535\n", lowPort}, // too little is
		{"", lowPort},
		{"many", lowPort},
		{"low high", lowPort},
	} {
		p := newPorts(c.text)
		if p.low != lowPort || p.high != c.high {
			t.Errorf("%q: from %d to %d, want %d to %d", c.text, p.low, p.high, lowPort, c.high)
		}
		port, err := p.take()
		if err != nil {
			t.Fatalf("%q: %v", c.text, err)
		}
		if c.high > lowPort && (port.number < p.low || port.number >= p.high) {
			t.Errorf("%q: got port %d", c.text, port.number)
		}
		if err := port.giveBack(); err != nil {
			t.Error(err)
		}
	}
}

// No two instances share a port, though it is long since held by nobody.
func TestNoPortIsGivenTwice(t *testing.T) {
	const room = 40
	p := newPorts("")
	p.low, p.high = 20011, 20011+room
	seen := map[int]bool{}
	var all []*port
	for range room / 2 {
		port, err := p.take()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port.number] {
			t.Errorf("port %d is given twice", port.number)
		}
		seen[port.number] = true
		all = append(all, port)
		if err := port.vacate(); err != nil {
			t.Fatal(err)
		}
	}
	for _, port := range all {
		if err := port.giveBack(); err != nil {
			t.Error(err)
		}
	}
	if len(p.given) != 0 {
		t.Errorf("%d ports are still given", len(p.given))
	}
}

// A port is held until its first life begins. A stranger that takes it later is
// told of, and is not the instance.
func TestAStrangerOnAPort(t *testing.T) {
	port, err := NewPorts().take()
	if err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("tcp", loopback(port.number)); err == nil {
		_ = l.Close()
		t.Error("the port is not held")
	}
	for range 3 { // lives that do not listen
		if err := port.vacate(); err != nil {
			t.Fatal(err)
		}
	}
	stranger, err := net.Listen("tcp", loopback(port.number))
	if err != nil {
		t.Fatalf("the port is not free for its instance: %v", err)
	}
	var taken *PortError
	if err := port.vacate(); !errors.As(err, &taken) || strconv.Itoa(taken.Port) != port.String() {
		t.Errorf("with a stranger there: %v", err)
	}
	if err := stranger.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(port.vacate(), port.giveBack()); err != nil {
		t.Error(err)
	}
}
