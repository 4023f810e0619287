package httplogstash

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/logging"
)

// Events are posted in order. Those of other tags and functions are not, and an event that the server
// refuses does not hold up the next.
func TestPost(t *testing.T) {
	bodies := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v %v", r.Method, r.Header, err)
		}
		bodies <- string(text)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	h := engines.Host{Name: "http", Bus: eventbus.New(eventbus.Options{}), Log: logging.Discard()}
	made, err := New(h, data.NewMap("url", server.URL, "tags", []any{"a/*"}, "funs", []any{"test.ping"}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- made(ctx) }()
	for _, e := range []struct {
		tag  string
		body *data.Map
	}{{"b/x", data.NewMap("n", int64(1))}, {"a/x", data.NewMap("fun", "state.apply")},
		{"a/x", data.NewMap("n", int64(3))},
		{"a/x", data.NewMap("fun", "test.ping", "n", int64(2))}} {
		if err := h.Bus.Fire(e.tag, e.body); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`{"n": 3, "`, `{"fun": "test.ping", "n": 2, "`} {
		if text := <-bodies; !strings.HasPrefix(text, want) {
			t.Errorf("got %q, want %q", text, want)
		}
	}
	stop()
	if err := <-ended; err != context.Canceled {
		t.Errorf("the engine ends with %v", err)
	}
}

// A redirect is not followed: events go to no other host.
func TestRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the other host gets an event")
	}))
	defer other.Close()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		asked <- struct{}{}
	}))
	defer server.Close()
	h := engines.Host{Name: "http", Bus: eventbus.New(eventbus.Options{}), Log: logging.Discard()}
	made, err := New(h, data.NewMap("url", server.URL))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- made(ctx) }()
	for range 2 { // when the second one comes, the first one has its answer
		if err := h.Bus.Fire("a", nil); err != nil {
			t.Fatal(err)
		}
		<-asked
	}
	stop()
	<-ended
}

func TestOptions(t *testing.T) {
	for _, options := range []*data.Map{data.NewMap(), data.NewMap("url", "ftp://a"), data.NewMap("url",
		"http:"),
		data.NewMap("url", "http://a", "tags", "x"), data.NewMap("url", "http://a", "fun", "x")} {
		if _, err := New(engines.Host{}, options); err == nil {
			t.Errorf("%s is accepted", data.Repr(options))
		}
	}
}
