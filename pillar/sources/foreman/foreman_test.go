package foreman

import (
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/pillar"
)

// TestSaltsAnswers compares pillar and requests with those of Salt 3006.18 in front of the same
// server.
func TestSaltsAnswers(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	s := fakeweb.Recorded(t, file.Value("answers").(*data.Map))
	for _, c := range fakeweb.Cases(t, file) {
		opts := data.NewMap("foreman.url", s.URL+"/api")
		opts.Update(c.Value("opts").(*data.Map))
		log, told := logtest.NewNullLogger()
		got, err := Source{}.Pillar(t.Context(), pillar.Query{ID: c.Text("id"),
			Argument: c.Value("argument"), Opts: opts, Log: log})
		if got == nil {
			got = data.NewMap()
		}
		if err != nil || data.Repr(got) != data.Repr(c.Value("result")) {
			t.Errorf("%s: %s, %v, want %s", c.Text("name"), data.Repr(got), err, data.Repr(c.Value("result")))
		}
		var sent []any
		for _, r := range s.Take() {
			sent = append(sent, r.Line()+" "+r.Header.Get("Accept")+" "+r.Header.Get("Authorization"))
		}
		if data.Repr(sent) != data.Repr(c.Value("requests")) {
			t.Errorf("%s: sent %s, want %s", c.Text("name"), data.Repr(sent), data.Repr(c.Value("requests")))
		}
		if failed := got.Len() == 0; failed != (len(told.AllEntries()) > 0) {
			t.Errorf("%s: %d lines in the log", c.Text("name"), len(told.AllEntries()))
		}
	}
}

// TestSecretsStayOutOfLogs asks a server that is not there, and with an id that leads elsewhere.
func TestSecretsStayOutOfLogs(t *testing.T) {
	for id, want := range map[string]string{"web1": "connection refused", "../users": "not fit for an address"} {
		log, told := logtest.NewNullLogger()
		got, err := Source{}.Pillar(t.Context(), pillar.Query{ID: id, Log: log, Opts: data.NewMap(
			"foreman.url", "http://x:hunter2@127.0.0.1:1/api", "foreman.password", "hunter2")})
		if err != nil || got.Len() != 0 || len(told.AllEntries()) != 1 {
			t.Fatalf("%s: %s, %v", id, data.Repr(got), err)
		}
		line := told.LastEntry().Message
		if !strings.Contains(line, want) || strings.Contains(line, "hunter2") {
			t.Errorf("%s: %s", id, line)
		}
	}
}

func TestEntriesAreChecked(t *testing.T) {
	for _, c := range []struct {
		argument any
		opts     *data.Map
		want     string
	}{
		{data.NewMap(), data.NewMap(), ""},
		{data.NewMap(), data.NewMap("foreman.api", int64(1)), "foreman.api: only 2 is supported"},
		{data.NewMap(), data.NewMap("foreman.url", "foreman"), "foreman.url: expected"},
		{data.NewMap("only", int64(1)), data.NewMap(), "only: expected a list"},
	} {
		err := Source{}.Check(c.argument, c.opts)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", data.Repr(c.argument), err, c.want)
		}
	}
}
