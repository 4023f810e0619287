package elasticsearch

import (
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/returners"
)

func at() time.Time { return time.Date(2026, 3, 1, 12, 30, 5, 250000, time.UTC) }

// serve starts an Elasticsearch that knows which indexes were made.
func serve(t *testing.T) *fakeweb.Server {
	t.Helper()
	known := map[string]bool{}
	return fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		switch {
		case r.Path == "/reset":
			clear(known)
		case r.Method == "HEAD" && !known[r.Path]:
			return &fakeweb.Answer{Status: 404}
		case r.Method == "PUT" && strings.HasSuffix(r.Path, "-v1"):
			known[strings.TrimSuffix(r.Path, "-v1")] = true
		}
		return &fakeweb.Answer{Kind: "application/json", Body: "{}"}
	})
}

// parsed returns the value of a body, which Salt writes without spaces.
func parsed(t *testing.T, body string) any {
	t.Helper()
	if body == "" {
		return ""
	}
	v, err := returners.ParseJSON([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSaltsDocuments compares requests with those of Salt 3006.18 and elasticsearch-py 7.17, where
// Salt does not fail.
func TestSaltsDocuments(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	for _, c := range fakeweb.Cases(t, file) {
		if c.Value("error") != nil {
			continue
		}
		s := serve(t)
		opts := data.NewMap("host", strings.TrimPrefix(s.URL, "http://"), "username", "u", "password", "p")
		opts.Update(c.Value("opts").(*data.Map))
		w := &writer{from: returners.MapSource(data.NewMap("elasticsearch", opts)), now: at}
		ret := file.Value("rets").([]any)[c.Value("ret").(int64)].(*data.Map)
		before := data.Repr(ret)
		if err := w.Return(t.Context(), ret); err != nil {
			t.Errorf("%s: %v", before, err)
		}
		if data.Repr(ret) != before {
			t.Error("the return was changed")
		}
		var sent []any
		for _, r := range s.Take() {
			sent = append(sent, []any{r.Method, r.Path, parsed(t, r.Body), r.Header.Get("Authorization")})
		}
		want, _ := c.Value("requests").([]any)
		for _, r := range want {
			request := r.([]any)
			request[2] = parsed(t, data.Str(request[2]))
		}
		if data.Repr(sent) != data.Repr(want) && len(sent)+len(want) > 0 {
			t.Errorf("sent\n%s\nwant\n%s", data.Repr(sent), data.Repr(want))
		}
	}
}

func TestOrderAndEvents(t *testing.T) {
	s := serve(t)
	opts := data.NewMap("elasticsearch", data.NewMap("hosts", []any{"127.0.0.1:1", s.URL}, "index_date", true,
		"states_order_output", true, "states_count", true))
	w := &writer{from: returners.MapSource(opts), now: at}
	states := data.NewMap("a_|-b_|-c_|-d", data.NewMap("result", false, "__run_num__", int64(10)))
	for i := range 10 {
		states.Set("x_|-"+data.Str(int64(i))+"_|-c_|-d", data.NewMap("result", true, "__run_num__", int64(i)))
	}
	if err := w.Return(t.Context(), data.NewMap("fun", "state.apply", "id", "w", "jid", "1", "return", states)); err != nil {
		t.Fatal(err)
	}
	r := s.Take()
	last := r[len(r)-1]
	if last.Path != "/salt-state_apply-2026.03.01-ordered/default" ||
		!strings.Contains(last.Body, `"10_|-a_|-b_|-c_|-d": {"result": false, "__run_num__": 10, "_func": "a.d"}`) ||
		!strings.Contains(last.Body, `"00_|-x_|-0_|-c_|-d"`) ||
		!strings.Contains(last.Body, `"counts": {"succeeded": 10, "failed": 1}`) {
		t.Errorf("%s %s", last.Path, last.Body)
	}
	err := w.ReturnEvents(t.Context(), []returners.Event{{Tag: "a", Data: data.NewMap("x", int64(1))}, {Tag: "b", Data: data.NewMap()}})
	r = s.Take()
	if err != nil || len(r) != 6 || r[3].Method != "PUT" ||
		!strings.HasPrefix(r[3].Path, "/salt-master-event-cache-2026.03.01/default/") ||
		len(r[3].Path) != len("/salt-master-event-cache-2026.03.01/default/")+36 ||
		r[3].Body != `{"tag": "a", "data": {"x": 1}}` || r[5].Body != `{"tag": "b", "data": {}}` {
		t.Errorf("%v, %d requests", err, len(r))
	}
}

func TestSettings(t *testing.T) {
	for want, o := range map[string]*data.Map{
		"elasticsearch.host: expected":    data.NewMap("host", "http://"),
		"elasticsearch.timeout: expected": data.NewMap("timeout", "x"),
		"read trusted authorities":        data.NewMap("ca_certs", "/nonexistent"),
		"connection refused":              data.NewMap("host", "127.0.0.1:1", "username", "u", "password", "hunter2"),
	} {
		w := &writer{from: returners.MapSource(data.NewMap("elasticsearch", o)), now: at}
		err := w.Return(t.Context(), data.NewMap("fun", "a.b", "return", true))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", data.Repr(o), err, want)
		}
	}
}
