package tornado_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/netapitest"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/tornado"
)

const console = "https://console.example.com"

// start starts a site whose door takes bodies of at most 2000 bytes and serves pages of console.
func start(t *testing.T) *netapitest.Site {
	t.Helper()
	return netapitest.Start(t, netapitest.Door{
		Section: func(s *netapi.Settings) *netapi.Door {
			s.Tornado.Origins, s.Tornado.MaxBody = []string{console}, 2000
			return s.Tornado
		},
		Open: func(p netapitest.Parts) (http.Handler, error) {
			return tornado.New(tornado.Options{Gate: p.Gate, Door: p.Door, Hub: p.Hub, Fire: p.Fire, Log: p.Log})
		},
	}, "V5", "m1", "m2")
}

// TestVectors replays what real clients exchanged with rest_tornado of Salt 3006.0.
func TestVectors(t *testing.T) {
	p := &netapitest.Replay{Site: start(t), Conf: "V5", Better: better(), Used: map[string]bool{}, Page: comparePage}
	p.Run(t, netapitest.Exchanges(t, "13-tornado"))
	for name := range better() {
		if !p.Used[name] {
			t.Errorf("%s is listed as better, but no exchange has that name", name)
		}
	}
}

// comparePage compares an error: ours is Salt's line, perhaps with the reason behind the status.
func comparePage(t *testing.T, e *netapitest.Exchange, got *netapitest.Reply) {
	t.Helper()
	want := strings.TrimSuffix(e.Response.Body, "</body></html>")
	body := strings.TrimSuffix(string(got.Body), "</body></html>")
	if body != want && !strings.HasPrefix(body, want+": ") || strings.Contains(body, "\n") {
		t.Errorf("body %s, want %s", got.Body, e.Response.Body)
	}
}
