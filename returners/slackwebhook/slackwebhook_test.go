package slackwebhook

import (
	"net/url"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/returners"
)

// TestSaltsMessages compares messages with those of Salt 3006.18, except for a return for which
// Salt's returner fails.
func TestSaltsMessages(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	rets, grains := file.Value("rets").([]any), file.Value("grains").(*data.Map)
	body := "ok"
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer { return &fakeweb.Answer{Body: body} })
	for _, c := range fakeweb.Cases(t, file) {
		opts := data.Clone(c.Value("opts")).(*data.Map)
		if below, ok := opts.Value("slack_webhook").(*data.Map); ok {
			below.Set("webhook", s.URL+"/x")
		} else {
			opts.Set("slack_webhook.webhook", s.URL+"/x")
		}
		ret := rets[c.Value("ret").(int64)].(*data.Map).Clone()
		ret.Set("ret_kwargs", data.NewMap("webhook", "http://127.0.0.1:1/"))
		p := &poster{from: returners.MapSource(opts), opts: data.NewMap(), grains: func() *data.Map { return grains }}
		if err := p.Return(t.Context(), ret); err != nil {
			t.Errorf("%s: %v", data.Repr(ret), err)
			continue
		}
		values, err := url.ParseQuery(s.Take()[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := returners.ParseJSON([]byte(values.Get("payload")))
		if err != nil || data.Repr(got) != data.Repr(c.Value("payload")) {
			t.Errorf("sent\n%s, %v, want\n%s", data.Repr(got), err, data.Repr(c.Value("payload")))
		}
	}
	body = "invalid_token"
	p := &poster{from: returners.MapSource(data.NewMap("slack_webhook.webhook", s.URL+"/hunter2")),
		opts: data.NewMap(), grains: func() *data.Map { return grains }}
	if err := p.Return(t.Context(), rets[0].(*data.Map)); err == nil ||
		!strings.Contains(err.Error(), "invalid_token") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a refusal: %v", err)
	}
}

func TestEventsAndAddresses(t *testing.T) {
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer { return &fakeweb.Answer{Body: "ok"} })
	e := OpenEvents(data.NewMap("slack_webhook.webhook", s.URL))
	err := e.ReturnEvents(t.Context(), []returners.Event{
		{Tag: "salt/job/1/ret/web1", Data: data.NewMap("id", "web1", "fun", "test.ping", "jid", "1", "return", true, "retcode", int64(0))},
		{Tag: "salt/job/2/ret/web1", Data: data.NewMap("id", "web1", "fun", "saltutil.find_job")},
		{Tag: "salt/auth", Data: data.NewMap("id", "web1")}})
	if seen := s.Take(); err != nil || len(seen) != 1 || !strings.Contains(seen[0].Body, "web1") {
		t.Errorf("%v, %v", seen, err)
	}
	for option, want := range map[string]string{"T0/B0/x": "https://hooks.slack.com/services/T0/B0/x",
		"https://chat.example.com/hook": "https://chat.example.com/hook", "": "", "ftp://x": ""} {
		if got, err := webhook(option); got != want || (err == nil) != (want != "") {
			t.Errorf("webhook(%q) = %q, %v", option, got, err)
		}
	}
}
