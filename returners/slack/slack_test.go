package slack

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/returners"
)

// TestSaltsMessages compares messages with those of Salt 3006.18.
func TestSaltsMessages(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	rets := file.Value("rets").([]any)
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer {
		return &fakeweb.Answer{Kind: "application/json", Body: `{"ok": true}`}
	})
	for _, c := range fakeweb.Cases(t, file) {
		p := &poster{returners.MapSource(c.Value("opts").(*data.Map)), data.NewMap(), s.URL}
		ret := rets[c.Value("ret").(int64)].(*data.Map).Clone()
		ret.Set("ret_kwargs", data.NewMap("api_key", "stolen"))
		if err := p.Return(t.Context(), ret); err != nil {
			t.Errorf("%v", err)
			continue
		}
		r := s.Take()[0]
		if r.Line() != "POST "+strings.TrimPrefix(c.Text("url"), "https://slack.com") ||
			r.Header.Get("Authorization") != c.Text("auth") || r.Body != c.Text("body") {
			t.Errorf("sent %s %s\n%s\nwant\n%s", r.Line(), r.Header.Get("Authorization"), r.Body, c.Text("body"))
		}
	}
}

func TestChosenStatesAndRefusals(t *testing.T) {
	states := data.NewMap("a", data.NewMap("result", true, "changes", data.NewMap()),
		"b", data.NewMap("result", true, "changes", data.NewMap("x", "y")),
		"c", data.NewMap("result", false, "changes", data.NewMap()))
	if got := chosen(states, true).Keys(); data.Repr(got) != "['b', 'c']" {
		t.Errorf("changes: %s", data.Repr(got))
	}
	if got := chosen(states, false).Keys(); data.Repr(got) != "['c']" {
		t.Errorf("only_show_failed: %s", data.Repr(got))
	}
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer {
		return &fakeweb.Answer{Body: `{"ok": false, "error": "channel_not_found"}`}
	})
	opts := data.NewMap("slack.username", "bot", "slack.as_user", true, "slack.profile", "mine",
		"mine", data.NewMap("api_key", "hunter2"))
	p := &poster{returners.MapSource(opts), data.NewMap(), s.URL}
	err := p.Return(t.Context(), data.NewMap("return", true))
	if err == nil || !strings.Contains(err.Error(), "channel_not_found") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	if got := s.Take()[0].Header.Get("Authorization"); got != "Bearer hunter2" {
		t.Errorf("the key of the profile was not used: %s", got)
	}
	opts.Delete("slack.as_user")
	if err := p.Return(t.Context(), data.NewMap("return", true)); err == nil ||
		err.Error() != "slack.as_user not defined in salt config" {
		t.Errorf("%v", err)
	}
}
