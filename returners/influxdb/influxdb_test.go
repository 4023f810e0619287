package influxdb

import (
	"net/url"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// TestSaltsPoints compares points with those of Salt 3006.18 and influxdb-python 5.3.
func TestSaltsPoints(t *testing.T) {
	status := 204
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer { return &fakeweb.Answer{Status: status} })
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	opts := data.NewMap("influxdb", data.NewMap("host", u.Hostname(), "port", u.Port(), "db", "salt db",
		"user", "u", "password", "p"))
	w := &writer{returners.MapSource(opts)}
	file := fakeweb.Load(t, "cases.json")
	host, port := returnertest.Stranger(t)
	for _, c := range fakeweb.Cases(t, file) {
		ret := file.Value("rets").([]any)[c.Value("ret").(int64)].(*data.Map).Clone()
		ret.Set("ret_kwargs", data.NewMap("host", host, "port", int64(port)))
		if err := w.Return(t.Context(), ret); err != nil {
			t.Error(err)
			continue
		}
		r := s.Take()[0]
		if r.Line() != c.Text("method")+" "+c.Text("path") || r.Body != c.Text("body") ||
			r.Header.Get("Authorization") != c.Text("auth") || r.Header.Get("Content-Type") != c.Text("type") {
			t.Errorf("sent %s %s\n%s\nwant %s %s\n%s", r.Line(), r.Header.Get("Authorization"), r.Body,
				c.Text("path"), c.Text("auth"), c.Text("body"))
		}
	}
	status = 401
	if err := w.Return(t.Context(), data.NewMap()); err == nil || !strings.Contains(err.Error(), "HTTP 401") {
		t.Errorf("a refusal: %v", err)
	}
	if err := (&writer{returners.MapSource(data.NewMap())}).Return(t.Context(), data.NewMap()); err == nil {
		t.Error("without options: no error")
	}
}
