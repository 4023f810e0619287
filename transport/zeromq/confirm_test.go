package zeromq

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/transport"
)

// watched returns a dialer for a, and what OnState is told.
func watched(a net.Addr) (transport.Dialer, <-chan bool) {
	states := make(chan bool, 100)
	d := quick(a)
	d.OnState = func(up bool, _ error) { states <- up }
	return d, states
}

// TestSubscriberIsUpWhenItsSubscriptionsAreTaken plays a publisher that is slow to read: who is
// told of a connection must not miss what is published from then on.
func TestSubscriberIsUpWhenItsSubscriptionsAreTaken(t *testing.T) {
	for name, confirm := range map[string]string{
		"by an answer to a heartbeat": string(command("PONG", nil)),
		"by a publication":            frames("topic", "body"),
	} {
		t.Run(name, func(t *testing.T) {
			c, states := slowPublisher(t, 1)
			if f := c.frame(); f != (rawFrame{flagCommand, "\x09SUBSCRIBEtopic"}) {
				t.Fatalf("sent %+v", f)
			}
			notYet(t, c, states)
			if strings.Contains(confirm, "PONG") {
				c.write(confirm)
				notYet(t, c, states)
			}
			c.write(confirm)
			awaitUp(t, states)
		})
	}
}

// notYet waits until the subscriber asks whether the publisher is there, without having been told
// that it is.
func notYet(t *testing.T, c *raw, states <-chan bool) {
	t.Helper()
	asked := make(chan string, 1)
	go func() {
		b := make([]byte, len(heartbeat()))
		_, _ = io.ReadFull(c, b) // what is missing shows
		asked <- string(b)
	}()
	select {
	case up := <-states:
		t.Fatalf("told of the connection (up is %t) before the publisher took the subscription", up)
	case b := <-asked:
		if b != string(heartbeat()) {
			t.Fatalf("sent %q", b)
		}
	}
	if len(states) > 0 {
		t.Error("told of the connection before the publisher took the subscription")
	}
}

// TestSubscriberOfAnOldPublisher checks that peers without heartbeats are believed at once.
func TestSubscriberOfAnOldPublisher(t *testing.T) {
	c, states := slowPublisher(t, 0)
	if f := c.frame(); f != (rawFrame{0, "\x01topic"}) {
		t.Fatalf("sent %+v", f)
	}
	awaitUp(t, states)
}

// slowPublisher returns a publisher by hand with the handshake done, and what its subscriber is
// told.
func slowPublisher(t *testing.T, minor byte) (*raw, <-chan bool) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d, states := watched(l.Addr())
	t.Cleanup(run(t, func(ctx context.Context) error {
		return NewSubscriber(d, "topic").Run(ctx, func(_, _ []byte) {})
	}))
	c := acceptRaw(t, l)
	l.Close() // there is no second connection
	return c.join(minor, "PUB"), states
}

func awaitUp(t *testing.T, states <-chan bool) {
	t.Helper()
	select {
	case up := <-states:
		if !up {
			t.Error("told of a loss")
		}
	case <-time.After(patience):
		t.Fatal("not told of the connection")
	}
}

// TestLibzmqPublisherConfirms publishes once, as soon as the subscriber is told of its connection.
func TestLibzmqPublisherConfirms(t *testing.T) {
	needLibzmq(t)
	z := startLibzmq(t, "pub", "tcp://127.0.0.1:*")
	e, err := transport.ParseEndpoint(z.line())
	if err != nil {
		t.Fatal(err)
	}
	d, states := watched(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(e.Port)})
	got := make(chan string, 1)
	stop := run(t, func(ctx context.Context) error {
		return NewSubscriber(d).Run(ctx, func(_, body []byte) { got <- string(body) })
	})
	defer stop()
	awaitUp(t, states)
	z.tell("%s", frameHex("job"))
	select {
	case m := <-got:
		if m != "job" {
			t.Errorf("got %q", m)
		}
	case <-time.After(patience):
		t.Error("the publication was lost")
	}
}
