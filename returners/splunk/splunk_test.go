package splunk

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/returners"
)

// TestSaltsEvents compares events with those of Salt 3006.18 at the same time on the same host.
func TestSaltsEvents(t *testing.T) {
	var body, auth, path string
	status := http.StatusOK
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		body, auth, path = b.String(), r.Header.Get("Authorization"), r.URL.Path
		w.WriteHeader(status)
	}))
	defer s.Close()
	file := fakeweb.Load(t, "cases.json")
	opts := file.Value("opts").(*data.Map)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	opts.Value("splunk_http_forwarder").(*data.Map).Set("indexer", u.Hostname())
	f := &forwarder{returners.MapSource(opts), u.Port(), func() time.Time { return time.Unix(1772366405, 5e8) },
		func() (string, error) { return "host1", nil }}
	for _, c := range fakeweb.Cases(t, file) {
		ret := file.Value("rets").([]any)[c.Value("ret").(int64)].(*data.Map)
		if err := f.Return(t.Context(), ret); err != nil {
			t.Error(err)
		}
		if body != c.Text("body") || auth != c.Value("headers").(*data.Map).Text("Authorization") ||
			!strings.HasSuffix(c.Text("url"), ":8088"+path) {
			t.Errorf("sent %s %s %s\nwant %s", path, auth, body, c.Text("body"))
		}
	}
	event := returners.Event{Tag: "salt/x", Data: data.NewMap("a", int64(1), "_stamp", "x")}
	if err := f.ReturnEvents(t.Context(), []returners.Event{event}); err != nil || body != file.Text("event") {
		t.Errorf("event %s, %v, want %s", body, err, file.Text("event"))
	}
	status = http.StatusForbidden
	if err := f.Return(t.Context(), data.NewMap()); err == nil || !strings.Contains(err.Error(), "HTTP 403") ||
		strings.Contains(err.Error(), "TOKEN") {
		t.Errorf("a refusal: %v", err)
	}
	if err := newForwarder(returners.MapSource(data.NewMap())).Return(t.Context(), data.NewMap()); err == nil {
		t.Error("without options: no error")
	}
}
