package redissentinel

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"

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
			yield("a", data.NewMap("ret", []any{int64(1), "internal.example.com", "127.0.0.1", "192.0.2.1"}))
			yield("0", data.NewMap("ret", []any{}))
			yield("1", data.NewMap("ret", []any{"evil.example.com", "127.0.0.1:6379", "127.0.0.1/8", ""}))
			yield("2", data.NewMap("ret", "192.0.2.9"))
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

// A message has a limit as a whole, and no lists within its list.
func TestMessagesAreLimited(t *testing.T) {
	text := func(n int) string { return fmt.Sprintf("$%d\r\n%s\r\n", n, strings.Repeat("x", n)) }
	for name, c := range map[string]struct {
		src  string
		want error
	}{
		"a large text":       {"*3\r\n" + text(1) + text(1) + text(maxMessage-100), nil},
		"a text too large":   {text(maxMessage), errLarge},
		"texts too large":    {"*3\r\n" + strings.Repeat(text(maxMessage/3), 3), errLarge},
		"many texts":         {"*101\r\n" + strings.Repeat("+x\r\n", 101), errReply},
		"a list without end": {"*9000000000\r\n", errReply},
		"a list in a list":   {"*1\r\n*1\r\n+x\r\n", errReply},
		"half a message":     {"*3\r\n" + text(1), io.EOF},
	} {
		if _, err := message(bufio.NewReader(strings.NewReader(c.src))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A Sentinel that does not answer is left.
func TestSilentSentinel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		s := &sentinel{channels: []string{"*"}}
		if err := s.listen(t.Context(), here, "192.0.2.1"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the engine ends with %v", err)
		}
	})
}

// FuzzDecode reads anything as the protocol of Redis: it gives a value or an error.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n", "-ERR x\r\n", "$-1\r\n",
		"*99\r\n", "$9999999999\r\n", "\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := message(bufio.NewReader(bytes.NewReader(src)))
		if err != nil {
			return
		}
		if channel, body, ok := event(v); ok && body.Text("channel") != channel {
			t.Errorf("%q is an event of %q: %s", src, channel, data.Repr(body))
		}
	})
}
