package dockerevents

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/logging"
)

// An engine is a Docker Engine on a unix socket. Each connection for events gets the next of bodies, and
// the last one stays open.
type engine struct {
	url    string
	bodies []string

	mu       sync.Mutex
	requests []string
}

func serve(t *testing.T, bodies ...string) *engine {
	t.Helper()
	e := &engine{bodies: bodies}
	// not t.TempDir, whose path can be too long for a socket
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	e.url = "unix:/" + l.Addr().String()
	s := httptest.NewUnstartedServer(e)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return e
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := e.keep(r.URL.RequestURI())
	if r.URL.Path == "/version" {
		fmt.Fprint(w, `{"ApiVersion": "1.43"}`)
		return
	}
	if n >= len(e.bodies) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"message": "no more"}`)
		return
	}
	for line := range strings.Lines(e.bodies[n]) {
		fmt.Fprint(w, line)
		w.(http.Flusher).Flush()
	}
	if n == len(e.bodies)-1 {
		<-r.Context().Done()
	}
}

// keep keeps a request and returns how many requests for events came before.
func (e *engine) keep(uri string) (before int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.requests {
		if strings.Contains(r, "/events") {
			before++
		}
	}
	e.requests = append(e.requests, uri)
	return before
}

func (e *engine) seen() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.requests...)
}

// start runs the engine until the test ends, and returns the events that it fires.
func start(t *testing.T, h engines.Host, options *data.Map) *eventbus.Subscription {
	t.Helper()
	h.Name, h.ID, h.Bus = "docker", "m", eventbus.New(eventbus.Options{})
	if h.Log == nil {
		h.Log = logging.Discard()
	}
	w, err := newWatcher(h, options)
	if err != nil {
		t.Fatal(err)
	}
	w.pause = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	events := h.Bus.Subscribe(eventbus.SubscribeOptions{})
	go func() { ended <- w.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the engine ends with %v", err)
		}
	})
	return events
}

// next returns the tag and the data of the next event.
func next(t *testing.T, events *eventbus.Subscription) (string, *data.Map) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := events.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	body, err := e.Map()
	if err != nil {
		t.Fatal(err)
	}
	body.Delete("_stamp")
	return e.Tag, body
}

func load(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// salt.json has what Salt's engine asks for and fires when it gets events.jsonl.
func TestEventsAreThoseOfSalt(t *testing.T) {
	cases, err := pyjson.Load(load(t, "salt.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases.([]any) {
		c := c.(*data.Map)
		e := serve(t, load(t, "events.jsonl"))
		options := c.Value("options").(*data.Map).Clone()
		options.Set("docker_url", e.url)
		events := start(t, engines.Host{}, options)
		for _, want := range c.Value("fired").([]any) {
			tag, body := next(t, events)
			if got := []any{tag, body}; data.Repr(got) != data.Repr(want) {
				t.Errorf("fired %s, want %s", data.Repr(got), data.Repr(want))
			}
		}
		want := data.Texts(c.Value("requests").([]any))
		if got := e.seen(); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: asked for %q, want %q", data.Repr(options), got, want)
		}
	}
}

func TestEventsGoOnAfterALostConnection(t *testing.T) {
	e := serve(t, `{"Action": "die", "timeNano": 1461943101000000007}`+"\n", "",
		`{"Action": "start", "timeNano": 1461943102999999999}`+"\n", `{"Action": "stop"}`+"\n")
	events := start(t, engines.Host{}, data.NewMap("docker_url", e.url))
	for _, want := range []string{"die", "start", "stop"} {
		if tag, _ := next(t, events); tag != "salt/engines/docker_events/"+want {
			t.Errorf("got %s, want %s", tag, want)
		}
	}
	want := "/version /v1.43/events /version /v1.43/events?since=1461943101.000000008 " +
		"/version /v1.43/events?since=1461943101.000000008 /version /v1.43/events?since=1461943103.000000000"
	if got := strings.Join(e.seen(), " "); got != want {
		t.Errorf("asked for\n%s, want\n%s", got, want)
	}
}

// What cannot be an event is skipped, and does not end the connection.
func TestSkipped(t *testing.T) {
	log, logged := logtest.NewNullLogger()
	e := serve(t, "{\n[1]\n\r\n{\"time\": 1}\n"+`{"Action": "a\n\nb"}`+"\n{\"Action\": \"\xff\"}\n"+
		`{"Action": "ok", "status": "other"}`+"\n")
	events := start(t, engines.Host{Log: log}, data.NewMap("docker_url", e.url, "tag", "x"))
	for _, want := range []string{"x/\uFFFD", "x/ok"} {
		if tag, _ := next(t, events); tag != want {
			t.Errorf("got %q, want %q", tag, want)
		}
	}
	var lines []string
	for _, entry := range logged.AllEntries() {
		lines = append(lines, entry.Message)
	}
	for _, want := range []string{"skipped a message", "without action", "fire \"x/a\\n\\nb\""} {
		if !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("the log %q does not have %q", lines, want)
		}
	}
}

// A message that is too long ends the connection. It is not asked for again.
func TestAMessageThatIsTooLong(t *testing.T) {
	e := serve(t, `{"Action": "die", "timeNano": 7}`+"\n"+`{"Action": "`+strings.Repeat("a", 2<<20),
		`{"Action": "start"}`+"\n")
	events := start(t, engines.Host{}, data.NewMap("docker_url", e.url))
	for _, want := range []string{"die", "start"} {
		if tag, _ := next(t, events); !strings.HasSuffix(tag, want) {
			t.Errorf("got %s, want %s", tag, want)
		}
	}
	if got := e.seen(); got[len(got)-1] != "/v1.43/events" {
		t.Errorf("asked for %q", got)
	}
}

// An event goes where the engine's events belong: a minion's to its masters.
func TestSend(t *testing.T) {
	sent := make(chan string)
	e := serve(t, `{"Action": "die"}`+"\n"+`{"Action": "start"}`+"\n")
	start(t, engines.Host{Send: func(_ context.Context, tag string, body *data.Map) error {
		sent <- tag + data.Repr(body)
		return errors.New("the master is away")
	}}, data.NewMap("docker_url", e.url))
	for _, want := range []string{"die", "start"} {
		if got := <-sent; got != "salt/engines/docker_events/"+want+"{'Action': '"+want+"'}" {
			t.Errorf("sent %s", got)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		options *data.Map
		err     string
	}{
		{options: data.NewMap()},
		{options: data.NewMap("docker_url", nil, "timeout", 1.5, "tag", nil, "filters", nil)},
		{data.NewMap("url", "x"), "option url is unknown"},
		{data.NewMap("docker_url", "ftp://x:1"), "docker_url: Invalid bind address protocol"},
		{data.NewMap("timeout", int64(0)), "timeout: expected seconds"},
		{data.NewMap("timeout", "x"), "timeout: expected seconds"},
		{data.NewMap("timeout", 1e300), "timeout: expected seconds"},
		{data.NewMap("filters", []any{"event"}), "filters: expected a mapping"},
	} {
		_, err := New(engines.Host{}, tt.options)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want %q", data.Repr(tt.options), err, tt.err)
		}
	}
}
