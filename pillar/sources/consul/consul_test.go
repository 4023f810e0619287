package consul

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/pillar"
)

// server starts a Consul with recorded answers by path, and returns its options.
func server(t *testing.T, file *data.Map) (*fakeweb.Server, *data.Map) {
	t.Helper()
	answers := file.Value("answers").(*data.Map)
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		list, ok := answers.Value(r.Path).([]any)
		if !ok {
			return nil
		}
		return &fakeweb.Answer{Kind: "application/json", Body: data.Str(list[2])}
	})
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s, data.NewMap("consul.host", u.Hostname(), "consul.port", u.Port())
}

func line(r fakeweb.Request) string {
	var words []string
	values, _ := url.ParseQuery(r.Query)
	for k, v := range values {
		words = append(words, k+"="+v[0])
	}
	slices.Sort(words)
	return r.Path + " " + strings.Join(words, " ")
}

// TestSaltsAnswers compares pillar and requests with those of Salt 3006.18 and python-consul in front
// of the same server.
func TestSaltsAnswers(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	s, base := server(t, file)
	for _, c := range fakeweb.Cases(t, file) {
		profile := base.Clone()
		profile.Update(c.Value("profile").(*data.Map))
		log, _ := logtest.NewNullLogger()
		q := pillar.Query{ID: "web1", Argument: c.Text("conf"), Log: log, Grains: data.NewMap("role", "db"),
			Opts: data.NewMap("my", profile, "pillarenv", c.Value("pillarenv"))}
		if err := New().Check(q.Argument, q.Opts); err != nil {
			t.Errorf("%s: Check = %v", c.Text("name"), err)
		}
		got, err := New().Pillar(t.Context(), q)
		if err != nil || !data.Equal(got, c.Value("result")) {
			t.Errorf("%s: %s, %v, want %s", c.Text("name"), data.Repr(got), err, data.Repr(c.Value("result")))
		}
		var sent []string
		for _, r := range s.Take() {
			sent = append(sent, line(r))
		}
		if want := data.TextsOf(c.Value("requests")); !slices.Equal(sent, want) {
			t.Errorf("%s: sent %q, want %q", c.Text("name"), sent, want)
		}
	}
}

// TestWordsAreReadAsSaltDoes compares with what Salt reads of the words of an entry.
func TestWordsAreReadAsSaltDoes(t *testing.T) {
	for _, v := range fakeweb.LoadAny(t, "words.json").([]any) {
		conf, want := data.Str(v.([]any)[0]), v.([]any)[1].(*data.Map)
		e := parse(conf)
		got := data.NewMap("profile", e.profile, "root", e.root, "expand", !e.literal, "pillar_root", e.pillarRoot)
		if e.targeted {
			got.Set("target", e.target)
		}
		if want.Value("profile") == nil {
			want.Set("profile", "")
		}
		if !data.Equal(got, want) {
			t.Errorf("%s: %s, want %s", conf, data.Repr(got), data.Repr(want))
		}
	}
}

func TestTargetsAndSecrets(t *testing.T) {
	s, profile := server(t, fakeweb.Load(t, "cases.json"))
	profile.Set("consul.token", "hunter2")
	log, told := logtest.NewNullLogger()
	q := pillar.Query{ID: "web1", Log: log, Grains: data.NewMap("os", "Debian"), Opts: data.NewMap("my", profile)}
	for conf, sent := range map[string]int{`my root=salt/web1 target="G@os:Debian"`: 1,
		`my root=salt/web1 target="G@os:Other or db*"`: 0} {
		q.Argument = conf
		got, err := New().Pillar(t.Context(), q)
		requests := s.Take()
		if err != nil || len(requests) != sent || (got.Len() > 0) != (sent > 0) {
			t.Errorf("%s: %s, %v, %d requests", conf, data.Repr(got), err, len(requests))
		}
		for _, r := range requests {
			if r.Header.Get("X-Consul-Token") != "hunter2" || strings.Contains(r.Line(), "hunter2") {
				t.Errorf("%s: %s", conf, r.Line())
			}
		}
	}
	profile.Set("consul.port", int64(1))
	q.Argument = "my"
	_, err := New().Pillar(t.Context(), q)
	if err == nil || err.Error() != "no answer of Consul; please see the master's log" ||
		len(told.AllEntries()) != 1 || strings.Contains(told.LastEntry().Message, "hunter2") {
		t.Errorf("%v", err)
	}
	s, profile = server(t, fakeweb.Load(t, "cases.json"))
	q.Argument, q.Grains, q.Opts = "my root=%(role)s", data.NewMap("role", ""), data.NewMap("my", profile)
	if got, err := New().Pillar(t.Context(), q); err == nil || len(s.Take()) > 0 {
		t.Errorf("with an empty root: %s, %v", data.Repr(got), err)
	}
	q.Argument, q.Grains = "my root=salt/%(role)s", data.NewMap("role", "../secret")
	if _, err := New().Pillar(t.Context(), q); err == nil || !strings.Contains(err.Error(), "root: . or .. is a part of a key") {
		t.Errorf("%v", err)
	}
}

func TestEntriesAreChecked(t *testing.T) {
	opts := data.NewMap("my", data.NewMap("consul.hosts", "x"), "ok", data.NewMap(),
		"dc", data.NewMap("consul.dc", data.NewMap("(", "x")), "port", data.NewMap("consul.port", "x"))
	for conf, want := range map[any]string{
		int64(1): "conf: expected", "gone": "gone: there is no such profile", "my": "consul.hosts: unknown option",
		"ok root=%(x)s": `root: "%(x)s" is none of`, `ok target="("`: "target: ", "dc": "is not a regular expression",
		"port": "consul.port: expected the number", "ok": "",
	} {
		err := New().Check(conf, opts)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", conf, err, want)
		}
	}
}
