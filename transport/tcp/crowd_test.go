package tcp_test

import (
	"net"
	"testing"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// TestManySubscribersSignInSlowly checks that minions that come all at once, as after a restart of
// the master, keep their connections however long it takes until each can say who it is, and get
// what is published meanwhile.
func TestManySubscribersSignInSlowly(t *testing.T) {
	p, stop := servePublications(t, transport.Options{Limits: transport.Limits{MaxHandshakes: 4}},
		func([]byte) (string, error) { return "", nil })
	defer stop()
	var crowd []net.Conn
	for range 16 {
		crowd = append(crowd, dial(t, p.Addr()))
	}
	eventually(t, func() bool { return p.Peers() == len(crowd) })
	p.Publish(transport.Message{IDs: []string{"web1"}, Body: payload.BlobOf([]byte("job"))})
	want := string(payload.AppendFrame(nil, payload.BlobOf([]byte("job"))))
	for i, c := range crowd {
		if got := string(read(t, c, len(want))); got != want {
			t.Errorf("subscriber %d got %q, want %q", i, got, want)
		}
	}
}
