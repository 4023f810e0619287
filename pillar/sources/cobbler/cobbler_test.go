package cobbler

import (
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/tops"
)

// TestSaltsAnswers compares pillar, states and requests with those of Salt 3006.18 in front of the
// same server.
func TestSaltsAnswers(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	answers := file.Value("answers").(*data.Map)
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		kind := "data"
		if strings.Contains(r.Body, "<methodName>login") {
			if kind = "login"; strings.Contains(r.Body, "bad") {
				kind = "bad"
			}
		}
		return &fakeweb.Answer{Kind: "text/xml", Body: answers.Text(kind)}
	})
	for _, c := range fakeweb.Cases(t, file) {
		opts := data.NewMap("cobbler.url", s.URL+"/cobbler_api")
		opts.Update(c.Value("opts").(*data.Map))
		log, told := logtest.NewNullLogger()
		got, err := Source{}.Pillar(t.Context(), pillar.Query{ID: "web1", Argument: c.Value("argument"),
			Opts: opts, Log: log})
		if got == nil {
			got = data.NewMap()
		}
		if err != nil || data.Repr(got) != data.Repr(c.Value("result")) {
			t.Errorf("%s: %s, %v, want %s", c.Text("name"), data.Repr(got), err, data.Repr(c.Value("result")))
		}
		var bodies []any
		for _, r := range s.Take() {
			bodies = append(bodies, r.Body)
		}
		if data.Repr(bodies) != data.Repr(c.Value("requests")) {
			t.Errorf("%s: sent %s\nwant %s", c.Text("name"), data.Repr(bodies), data.Repr(c.Value("requests")))
		}
		if failed := got.Len() == 0; failed != (len(told.AllEntries()) > 0) {
			t.Errorf("%s: %d lines in the log", c.Text("name"), len(told.AllEntries()))
		}
		top, err := tops.Cobbler{}.Top(t.Context(), tops.Query{Minion: tops.Minion{ID: "web1"},
			Master: opts, Log: log})
		if top == nil {
			top = data.NewMap()
		}
		if err != nil || data.Repr(top) != data.Repr(c.Value("top")) {
			t.Errorf("%s: top %s, %v", c.Text("name"), data.Repr(top), err)
		}
		s.Take()
	}
}

func TestEntriesAreChecked(t *testing.T) {
	for _, c := range []struct {
		argument any
		opts     *data.Map
		want     string
	}{
		{nil, data.NewMap(), ""},
		{data.NewMap("key", "k"), data.NewMap("cobbler.url", "ftp://x"), "cobbler.url: expected"},
		{data.NewMap("only", "x"), data.NewMap(), "only: expected a list"},
		{data.NewMap("keys", "x"), data.NewMap(), "unexpected keyword argument 'keys'"},
	} {
		err := Source{}.Check(c.argument, c.opts)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", data.Repr(c.argument), err, c.want)
		}
	}
}
