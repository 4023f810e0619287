package netbox

import (
	"slices"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/pillar"
)

func argument(c *data.Map, at string) *data.Map {
	a := data.NewMap("api_url", at+"/api/", "api_token", "t0ken")
	a.Update(c.Value("argument").(*data.Map))
	return a
}

// TestSaltsAnswers compares pillar and requests with those of Salt 3006.18 in front of the same
// server.
func TestSaltsAnswers(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	s := fakeweb.Recorded(t, file.Value("answers").(*data.Map))
	for _, c := range fakeweb.Cases(t, file) {
		log, told := logtest.NewNullLogger()
		got, err := New().Pillar(t.Context(), pillar.Query{ID: c.Text("id"), Argument: argument(c, s.URL),
			Opts: data.NewMap(), Log: log})
		want := data.Repr(c.Value("result"))
		if want == "None" {
			want = "{}"
		}
		if got == nil {
			got = data.NewMap()
		}
		if err != nil || fakeweb.JSONForm(t, got) != want {
			t.Errorf("%s: %s, %v, want %s", c.Text("name"), data.Repr(got), err, want)
		}
		var sent, wanted []string
		for _, r := range s.Take() {
			sent = append(sent, fakeweb.Sorted(r.Line())+" "+r.Header.Get("Authorization"))
		}
		for _, r := range data.TextsOf(c.Value("requests")) {
			words := strings.SplitN(r, " ", 3)
			wanted = append(wanted, words[0]+" "+fakeweb.Sorted(words[1])+" "+words[2])
		}
		if !slices.Equal(sent, wanted) {
			t.Errorf("%s: sent\n%s\nwant\n%s", c.Text("name"), strings.Join(sent, "\n"), strings.Join(wanted, "\n"))
		}
		for _, e := range told.AllEntries() {
			if strings.Contains(e.Message, "t0ken") {
				t.Errorf("%s: the log has the token: %s", c.Text("name"), e.Message)
			}
		}
	}
}

// TestTheTokenStaysOnTheServer has a next page on another host: it is read from the configured one.
func TestTheTokenStaysOnTheServer(t *testing.T) {
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		body := `{"results": [], "next": "http://127.0.0.1:1/api/dcim/devices?page=2"}`
		if strings.Contains(r.Query, "page=2") {
			body = `{"results": [{"id": 1, "site": {"id": 1, "name": "s"}}], "next": null}`
		}
		return &fakeweb.Answer{Kind: "application/json", Body: body}
	})
	log, _ := logtest.NewNullLogger()
	got, err := New().Pillar(t.Context(), pillar.Query{ID: "web1", Opts: data.NewMap(), Log: log,
		Argument: data.NewMap("api_url", s.URL+"/api", "api_token", "t", "site_details", false,
			"site_prefixes", false, "proxy_return", false)})
	if err != nil || data.Repr(got) != "{'netbox': {'id': 1, 'site': {'id': 1, 'name': 's'}, 'node_type': 'device'}}" {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
}

// TestResponsesAreLimited has a list without end.
func TestResponsesAreLimited(t *testing.T) {
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer {
		return &fakeweb.Answer{Kind: "application/json", Body: `{"results": [], "x": "` +
			strings.Repeat("x", 1000) + `", "next": "/api/dcim/devices?page=2"}`}
	})
	log, told := logtest.NewNullLogger()
	source := New()
	source.room = 10_000
	got, err := source.Pillar(t.Context(), pillar.Query{ID: "web1", Opts: data.NewMap(), Log: log,
		Argument: data.NewMap("api_url", s.URL+"/api", "api_token", "t")})
	if got.Len() > 0 || err != nil || len(s.Take()) > 10 ||
		!strings.Contains(told.AllEntries()[0].Message, "the responses are too large") {
		t.Errorf("%s, %v, %v", data.Repr(got), err, told.AllEntries())
	}
}

func TestEntriesAreChecked(t *testing.T) {
	for want, a := range map[string]any{
		"api_url: expected":             data.NewMap("api_token", "x"),
		"The value for api_token":       data.NewMap("api_url", "http://x"),
		"At least one of devices":       data.NewMap("api_url", "http://x", "api_token", "x", "devices", false),
		"api_url: expected the address": "http://x",
	} {
		if err := New().Check(a, data.NewMap()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", data.Repr(a), err, want)
		}
	}
}
