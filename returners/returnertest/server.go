package returnertest

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"sync"
	"testing"
)

// Name returns a unique name for a database or a prefix.
func Name() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return "brine_test_" + hex.EncodeToString(b)
}

// Silent returns the address of a server that accepts connections and never answers.
func Silent(t testing.TB) (host string, port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu    sync.Mutex
		conns []net.Conn
	)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			c.Close()
		}
	})
	return "127.0.0.1", l.Addr().(*net.TCPAddr).Port
}

// Stranger returns the address of a server that nobody may connect to; the test fails if somebody
// does.
func Stranger(t testing.TB) (host string, port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	go func() {
		n := 0
		for {
			conn, err := l.Accept()
			if err != nil {
				done <- n
				return
			}
			n++
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		if n := <-done; n > 0 {
			t.Errorf("a server that the caller named got %d connections", n)
		}
	})
	at := l.Addr().(*net.TCPAddr)
	return at.IP.String(), at.Port
}
