package webhook

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/logging"
	"github.com/sirupsen/logrus"
)

type sent struct {
	tag  string
	body *data.Map
}

// listening is a log that tells when the engine listens.
type listening chan struct{}

func (listening) Levels() []logrus.Level { return logrus.AllLevels }

func (l listening) Fire(e *logrus.Entry) error {
	if strings.Contains(e.Message, "listens on") {
		close(l)
	}
	return nil
}

// start runs the engine and returns its address and its events. send fails with an error that is not nil.
func start(t *testing.T, fails error) (address string, events chan sent) {
	t.Helper()
	events = make(chan sent, 10)
	ready := make(listening)
	log := logging.Discard()
	log.SetLevel(logrus.InfoLevel)
	log.AddHook(ready)
	port := freeport.One(t)
	h := engines.Host{Name: "hook", Log: log, Send: func(_ context.Context, tag string, body *data.Map) error {
		events <- sent{tag, body}
		return fails
	}}
	run, err := New(h, data.NewMap("address", "127.0.0.1", "port", int64(port)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the engine ends with %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", data.Str(int64(port))), events
}

func ask(t *testing.T, address, request string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	return reply.StatusCode
}

// testdata/requests.json has requests with the status and the event of Salt 3006.18.
func TestRequests(t *testing.T) {
	src, err := os.ReadFile("testdata/requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Request string
		Status  int
		Event   *struct {
			Tag  string
			Data struct {
				Headers map[string]string
				Body    string
			}
		}
	}
	if err := json.Unmarshal(src, &list); err != nil || len(list) == 0 {
		t.Fatal(err)
	}
	address, events := start(t, nil)
	for _, c := range list {
		if status := ask(t, address, c.Request); status != c.Status {
			t.Errorf("%q: status %d, want %d", c.Request, status, c.Status)
		}
		if c.Event == nil {
			if len(events) > 0 {
				t.Errorf("%q fires %v", c.Request, <-events)
			}
			continue
		}
		e := <-events
		headers := e.body.Value("headers").(*data.Map)
		if e.tag != c.Event.Tag || e.body.Value("body") != c.Event.Data.Body ||
			headers.Len() != len(c.Event.Data.Headers) {
			t.Errorf("%q fires %s %s, want %v", c.Request, e.tag, data.Repr(e.body), *c.Event)
		}
		for name, value := range c.Event.Data.Headers {
			if headers.Text(name) != value {
				t.Errorf("%q: header %s is %q, want %q", c.Request, name, headers.Text(name), value)
			}
		}
	}
}

// A body that is too long, and a path that is no tag, fire nothing. A failure to fire is the status.
func TestRefused(t *testing.T) {
	address, events := start(t, nil)
	if status := ask(t, address, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n"+
		strings.Repeat("x", 1<<20+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body: %d", status)
	}
	if status := ask(t, address, "POST /a%0A%0Ab HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"); status != http.StatusBadRequest {
		t.Errorf("a tag with line ends: %d", status)
	}
	if len(events) > 0 {
		t.Errorf("fired %v", <-events)
	}
	address, _ = start(t, errors.New("no master"))
	if status := ask(t, address, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"); status != http.StatusBadGateway {
		t.Errorf("without a master: %d", status)
	}
}

func TestOptions(t *testing.T) {
	for _, options := range []*data.Map{data.NewMap("port", int64(0)), data.NewMap("ssl_crt", "/x"),
		data.NewMap("address", int64(1)), data.NewMap("host", "x")} {
		if _, err := New(engines.Host{}, options); err == nil {
			t.Errorf("%s is accepted", data.Repr(options))
		}
	}
	run, err := New(engines.Host{Log: logging.Discard()}, data.NewMap("ssl_crt", "/nothing", "ssl_key",
		"/nothing"))
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context()); err == nil || !strings.Contains(err.Error(), "read the certificate") {
		t.Errorf("without its certificate the engine ends with %v", err)
	}
}
