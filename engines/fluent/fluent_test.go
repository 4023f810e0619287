package fluent

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/payload"
)

func TestForward(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := engines.Host{Name: "fluent", Bus: eventbus.New(eventbus.Options{}), Log: logging.Discard()}
	run, err := New(h, data.NewMap("host", "127.0.0.1", "port", int64(l.Addr().(*net.TCPAddr).Port), "app", "x"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	conn, err := l.Accept() // the engine has subscribed before it connects
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Unix()
	if err := h.Bus.Fire("a/b", data.NewMap("fun", "test.ping", "n", int64(7))); err != nil {
		t.Fatal(err)
	}
	var got []any
	buf := make([]byte, 0, 4096)
	for got == nil {
		part := make([]byte, 4096)
		n, err := conn.Read(part)
		if err != nil {
			t.Fatal(err)
		}
		buf = append(buf, part[:n]...)
		if v, err := payload.UnmarshalText(buf, payload.WireLimits()); err == nil {
			got = v.([]any)
		}
	}
	stamp, _ := got[1].(int64)
	body, _ := got[2].(*data.Map)
	if len(got) != 3 || got[0] != "saltstack.x" || stamp < before || stamp > time.Now().Unix() ||
		body.Text("fun") != "test.ping" || body.Value("n") != int64(7) {
		t.Errorf("got %s", data.Repr(got))
	}
	stop()
	if err := <-ended; err != context.Canceled {
		t.Errorf("the engine ends with %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, options := range []*data.Map{data.NewMap("port", "x"), data.NewMap("a", "b"), data.NewMap("app",
		int64(1))} {
		if _, err := New(engines.Host{}, options); err == nil {
			t.Errorf("%s is accepted", data.Repr(options))
		}
	}
}
