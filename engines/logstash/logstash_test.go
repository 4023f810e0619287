package logstash

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/logging"
)

func host() engines.Host {
	return engines.Host{Name: "logstash", ID: "m", Bus: eventbus.New(eventbus.Options{}), Log: logging.Discard()}
}

// start runs an engine and fires an event.
func start(t *testing.T, h engines.Host, options *data.Map) {
	t.Helper()
	run, err := New(h, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != context.Canceled {
			t.Errorf("the engine ends with %v", err)
		}
	})
	if err := h.Bus.Fire("a/b", event()); err != nil {
		t.Fatal(err)
	}
}

func event() *data.Map {
	return data.NewMap("id", "web1", "fun", "test.ping", "message", "other", "password", "marker", "list",
		[]any{int64(1), nil})
}

// judge checks the fields that python-logstash writes.
func judge(t *testing.T, text []byte) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	stamp, _ := got["@timestamp"].(string)
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", stamp); err != nil {
		t.Errorf("the time is %q", stamp)
	}
	if got["@version"] != "1" || got["message"] != "salt/engine/logstash" || got["level"] != "INFO" ||
		got["id"] != "web1" || got["fun"] != "test.ping" || got["type"] != "Logstash" {
		t.Errorf("got %v", got)
	}
	if strings.Contains(string(text), "marker") {
		t.Errorf("the password is in %s", text)
	}
}

func TestUDP(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	start(t, host(), data.NewMap("host", "127.0.0.1", "port", int64(conn.LocalAddr().(*net.UDPAddr).Port)))
	buf := make([]byte, 1<<16)
	n, _, err := conn.ReadFrom(buf)
	if err != nil || buf[n-1] != '}' {
		t.Fatalf("read %q, %v", buf[:n], err)
	}
	judge(t, buf[:n])
}

// Over TCP each event is a line. After a broken connection the engine connects again.
func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := host()
	start(t, h, data.NewMap("host", "127.0.0.1", "port", int64(l.Addr().(*net.TCPAddr).Port), "proto", "tcp"))
	for range 2 {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		lines := make(chan []byte)
		go func() {
			line, _ := bufio.NewReader(conn).ReadBytes('\n')
			lines <- line
		}()
		var line []byte
		for line == nil { // events that are written into a broken connection are lost
			if err := h.Bus.Fire("a/b", event()); err != nil {
				t.Fatal(err)
			}
			select {
			case line = <-lines:
			case <-time.After(10 * time.Millisecond):
			}
		}
		judge(t, line)
		conn.Close()
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { // the engine notices the end with its next events
			defer close(done)
			for {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
					_ = h.Bus.Fire("a/b", event())
				}
			}
		}()
		t.Cleanup(func() { close(stop); <-done })
	}
}

func TestOptions(t *testing.T) {
	for text, options := range map[string]*data.Map{
		"host is missing":        data.NewMap(),
		"expected the number":    data.NewMap("host", "a", "port", "x"),
		"of a port":              data.NewMap("host", "a", "port", int64(70000)),
		"proto must be udp":      data.NewMap("host", "a", "proto", "sctp"),
		"option hots is unknown": data.NewMap("hots", "a"),
		"host: expected a text":  data.NewMap("host", int64(1)),
	} {
		if _, err := New(host(), options); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want %q", data.Repr(options), err, text)
		}
	}
}
