package sentry

import (
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/returners"
)

// TestSaltsMessages compares texts and levels with those of Salt 3006.18.
func TestSaltsMessages(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	for _, c := range fakeweb.Cases(t, file) {
		ret := data.Clone(file.Value("rets").([]any)[c.Value("ret").(int64)]).(*data.Map)
		if got := message(ret); got != c.Text("message") {
			t.Errorf("message %q, want %q", got, c.Text("message"))
		}
		if got := fine(ret); got != c.Value("fine") {
			t.Errorf("%s: fine %v", c.Text("message"), got)
		}
	}
}

func TestStore(t *testing.T) {
	status := 200
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer { return &fakeweb.Answer{Status: status, Body: `{"id": "x"}`} })
	raven := data.NewMap("dsn", strings.Replace(s.URL, "://", "://pub:hunter2@", 1)+"/sub/42", "tags", []any{"os"})
	pillar := data.NewMap("a", int64(1), "raven", raven)
	r := &reporter{func() *data.Map { return pillar }, func() *data.Map { return data.NewMap("os", "Debian") },
		func() time.Time { return time.Unix(1772366405, 0) }}
	ret := data.NewMap("fun", "test.ping", "return", true, "success", true, "ret_kwargs", data.NewMap("x", "y"))
	if err := r.Return(t.Context(), ret); err != nil {
		t.Fatal(err)
	}
	q := s.Take()[0]
	auth := q.Header.Get("X-Sentry-Auth")
	if q.Line() != "POST /sub/api/42/store/" || !strings.Contains(auth, "sentry_key=pub, sentry_secret=hunter2") ||
		!strings.HasPrefix(auth, "Sentry sentry_timestamp=1772366405, ") {
		t.Errorf("%s %s", q.Line(), auth)
	}
	v, err := returners.ParseJSON([]byte(q.Body))
	if err != nil {
		t.Fatal(err)
	}
	m := v.(*data.Map)
	for key, want := range map[string]string{"level": "'info'", "culprit": "'salt func: test.ping'", "platform": "'python'",
		"message": "'salt func: test.ping'", "tags": "{'os': 'Debian'}", "timestamp": "'2026-03-01T12:00:05Z'",
		"extra": "{'result': {'fun': 'test.ping', 'return': True, 'success': True}, 'pillar': {'a': 1}, 'grains': {'os': 'Debian'}}"} {
		if got := data.Repr(m.Value(key)); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	raven.Set("report_errors_only", true)
	if err := r.Return(t.Context(), ret); err != nil || len(s.Take()) != 0 {
		t.Errorf("report_errors_only: %v", err)
	}
	ret.Set("success", false)
	raven.Set("hide_pillar", true)
	status = 403
	err = r.Return(t.Context(), ret)
	if err == nil || !strings.Contains(err.Error(), "HTTP 403") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a refusal: %v", err)
	}
	if q := s.Take()[0]; !strings.Contains(q.Body, `"pillar": "HIDDEN"`) || !strings.Contains(q.Body, `"level": "error"`) {
		t.Errorf("%s", q.Body)
	}
	pillar.Set("raven", data.NewMap("servers", []any{s.URL}, "public_key", "p", "secret_key", "s"))
	if err := r.Return(t.Context(), ret); err == nil || err.Error() != "Sentry returner needs key 'project' in pillar" {
		t.Errorf("%v", err)
	}
}
