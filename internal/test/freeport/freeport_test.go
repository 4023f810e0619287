package freeport

import (
	"net"
	"strconv"
	"testing"
)

// TestPortsAreGivenOnce takes ports as tests of several packages do at the same time.
func TestPortsAreGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 300 {
		for _, port := range New(t, 2) {
			if seen[port] {
				t.Fatalf("port %d was given twice", port)
			}
			seen[port] = true
		}
	}
}

func TestPortsCanBeBound(t *testing.T) {
	l, err := net.Listen("tcp", Address(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestPortsInUseAreNotGiven(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if mark := reserve(l.Addr().(*net.TCPAddr).Port); mark != nil {
			mark.Close()
			t.Errorf("the port of a server on %s is given", address)
		}
	}
}

func TestPortsComeBack(t *testing.T) {
	l, err := Take(1)
	if err != nil {
		t.Fatal(err)
	}
	if mark := reserve(l.Ports[0]); mark != nil {
		t.Errorf("port %d is given a second time", l.Ports[0])
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mark, err := net.ListenPacket("udp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(l.Ports[0])))
	if err != nil {
		t.Fatalf("the port is not given back: %v", err)
	}
	mark.Close()
}
