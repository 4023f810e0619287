package zeromq

import (
	"context"
	"net"
	"testing"

	"github.com/brineproject/brine/transport"
)

// TestPortsShareTheirConnections fills a request and a publish port from addresses that say
// nothing: each has its share of both ports together, and who has proved itself comes in above it.
func TestPortsShareTheirConnections(t *testing.T) {
	crowd := transport.NewCrowd(20, nil)
	reply, stopReply := startReplier(t, transport.Options{Crowd: crowd},
		func(_ context.Context, r transport.Request) {
			r.Trust()
			_ = r.Reply(r.Body())
		})
	defer stopReply()
	publish, stopPublish := startPublisher(t, transport.Options{Crowd: crowd})
	defer stopPublish()
	var conns []net.Conn
	defer func() { // or the servers would wait for handshakes
		for _, conn := range conns {
			conn.Close()
		}
	}()
	dial := func(from string, to net.Addr) {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := d.DialContext(t.Context(), "tcp", to.String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	stats := func() (accepted, refused uint64) {
		a, b := reply.Stats(), publish.Stats()
		return a.Accepted + b.Accepted, a.Refused + b.Refused
	}
	for range 4 {
		dial("127.0.0.2", reply.Addr())
		dial("127.0.0.2", publish.Addr())
	}
	eventually(t, "five of eight connections of one address are taken", func() bool {
		accepted, refused := stats()
		return accepted == 5 && refused == 3
	})
	q := NewRequester(transport.Dialer{Addr: "tcp://" + reply.Addr().String()})
	defer q.Close()
	if _, err := q.Do(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	for range 9 {
		dial("127.0.0.1", publish.Addr())
	}
	eventually(t, "an address that has proved itself is not held to a share", func() bool {
		accepted, refused := stats()
		return accepted == 15 && refused == 3 && crowd.Open() == 15
	})
	before := publish.Stats().Connections // it is chance which port took how many of the first address
	for range 2 {
		dial("127.0.0.1", publish.Addr())
	}
	eventually(t, "above 80 % a silent subscriber is closed", func() bool {
		accepted, _ := stats()
		return accepted == 17 && crowd.Open() == 16 && publish.Stats().Connections == before+1
	})
}
