package redissentinel

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/logging"
)

// testdata/events.json has messages of a Sentinel, and the events of Salt 3006.18 for them.
func TestEvents(t *testing.T) {
	src, err := os.ReadFile("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := ""
	type sent struct {
		tag  string
		body *data.Map
	}
	events := make(chan sent, 100)
	h := engines.Host{Name: "redis", Log: logging.Discard(),
		Send: func(_ context.Context, tag string, body *data.Map) error {
			events <- sent{tag, body}
			return nil
		},
		Order: func(_ context.Context, order *data.Map, yield func(string, *data.Map) bool) error {
			asked = data.Repr(order)
			yield("b", data.NewMap("ret", []any{"192.0.2.9"}))
			yield("a", data.NewMap("ret", []any{"127.0.0.1", "192.0.2.1"}))
			yield("0", data.NewMap("ret", []any{}))
			return nil
		}}
	run, err := New(h, data.NewMap("channels", []any{"+*", "x"}, "hosts", data.NewMap("matching", "board*",
		"interface", "eth2", "port", int64(l.Addr().(*net.TCPAddr).Port))))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	want := "*3\r\n$10\r\nPSUBSCRIBE\r\n$2\r\n+*\r\n$1\r\nx\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("the engine sends %q, %v", got, err)
	}
	for _, c := range v.([]any) {
		c := c.(*data.Map)
		item := c.Value("item").(*data.Map)
		channel := item.Text("channel")
		if n, ok := item.Value("data").(int64); ok {
			fmt.Fprintf(conn, "*3\r\n$10\r\npsubscribe\r\n$%d\r\n%s\r\n:%d\r\n", len(channel), channel, n)
		} else {
			text := item.Text("data")
			fmt.Fprintf(conn, "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(channel), channel,
				len(text), text)
		}
		if e := <-events; e.tag != c.Text("tag") || !data.Equal(e.body, c.Value("data")) {
			t.Errorf("%s gives %s %s, want %s %s", data.Repr(item), e.tag, data.Repr(e.body), c.Text("tag"),
				data.Repr(c.Value("data")))
		}
	}
	if asked != "{'tgt': 'board*', 'tgt_type': 'glob', 'fun': 'network.ip_addrs', 'arg': ['eth2']}" {
		t.Errorf("the order is %s", asked)
	}
	conn.Close()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "read from the Sentinel") {
		t.Errorf("without the Sentinel the engine ends with %v", err)
	}
	stop()
}

func TestOptions(t *testing.T) {
	hosts := data.NewMap("matching", "a", "interface", "b")
	for _, options := range []*data.Map{data.NewMap(), data.NewMap("hosts", "x"), data.NewMap("hosts",
		data.NewMap("matching", "a")),
		data.NewMap("hosts", hosts, "channels", "x"), data.NewMap("hosts", hosts, "x", "y")} {
		if _, err := New(engines.Host{}, options); err == nil {
			t.Errorf("%s is accepted", data.Repr(options))
		}
	}
}

// FuzzDecode reads anything as the protocol of Redis: it gives a value or an error.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n", "-ERR x\r\n", "$-1\r\n",
		"*99\r\n", "$9999999999\r\n", "\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := decode(bufio.NewReader(bytes.NewReader(src)), 0)
		if err != nil {
			return
		}
		if channel, body, ok := event(v); ok && body.Text("channel") != channel {
			t.Errorf("%q is an event of %q: %s", src, channel, data.Repr(body))
		}
	})
}
