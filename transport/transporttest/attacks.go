package transporttest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/brineproject/brine/transport"
)

// closed waits until the other side ends the connection.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection was not closed")
	}
}

// garbage checks that what nobody understands costs its sender the connection, and a good client
// beside it nothing.
func garbage(t *testing.T, tr Transport) {
	s, run := replier(t, tr, transport.Options{Limits: transport.Limits{HandshakeTimeout: time.Second}}, echo)
	defer run.stop()
	p, runPub := publisher(t, tr, "tcp://127.0.0.1:0",
		transport.Options{Limits: transport.Limits{HandshakeTimeout: time.Second}})
	defer runPub.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	ask(t, q, "before")
	random := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, 2000)
	for _, addr := range []net.Addr{s.Addr(), p.Addr()} {
		for range 50 {
			_, _ = random.Read(noise)
			for _, junk := range [][]byte{noise, []byte("GET / HTTP/1.0\r\n\r\n"),
				append(bytes.Clone(tr.Hello), 0xff, 0xff, 0xff)} {
				c := dial(t, addr)
				_, _ = c.Write(junk) // the server may be quicker to close
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.CloseWrite()
				}
				closed(t, c)
				c.Close()
			}
		}
	}
	ask(t, q, "after")
	if got := s.Stats().Accepted; got != 151 {
		t.Errorf("Accepted = %d, want 151: the good client was disturbed", got)
	}
}

func huge(t *testing.T, tr Transport) {
	if tr.Huge == nil {
		t.Log("nothing can be said by hand")
		return
	}
	s, run := replier(t, tr, transport.Options{}, echo)
	defer run.stop()
	c := dial(t, s.Addr())
	if _, err := c.Write(append(bytes.Clone(tr.Hello), tr.Huge...)); err != nil {
		t.Fatal(err)
	}
	closed(t, c)
	if got := s.Stats().TooLarge; got != 1 {
		t.Errorf("TooLarge = %d, want 1", got)
	}
}

// silence checks that connections that say nothing hinder nobody and are closed in the end.
func silence(t *testing.T, tr Transport) {
	o := transport.Options{Limits: transport.Limits{HandshakeTimeout: 2 * time.Second,
		MaxHandshakes: 20}}
	s, run := replier(t, tr, o, echo)
	defer run.stop()
	var mute []net.Conn
	for range 50 {
		mute = append(mute, dial(t, s.Addr()))
	}
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	ask(t, q, "let me through")
	for _, c := range mute {
		closed(t, c)
	}
	eventually(t, "the places to be free", func() bool { return s.Stats().Connections == 1 })
}

func tooMany(t *testing.T, tr Transport) {
	s, run := replier(t, tr, transport.Options{Limits: transport.Limits{MaxConns: 2}}, echo)
	defer run.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	ask(t, q, "first")
	second := requester(t, tr, quick(s.Addr()))
	ask(t, second, "second")
	closed(t, dial(t, s.Addr()))
	if got := s.Stats().Refused; got != 1 {
		t.Errorf("Refused = %d, want 1", got)
	}
	end(t, second)
	eventually(t, "the place to be free", func() bool { return s.Stats().Connections == 1 })
	third := requester(t, tr, quick(s.Addr()))
	defer end(t, third)
	ask(t, third, "third")
}
