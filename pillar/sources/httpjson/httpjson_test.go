package httpjson

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the request as JSON, which is also YAML, and otherwise responds by path.
func server(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch r.URL.Path {
		case "/list":
			fmt.Fprint(w, "[1, 2]")
		case "/broken":
			fmt.Fprint(w, "{hunter2: [")
		case "/empty":
		case "/missing":
			http.NotFound(w, r)
		case "/moved":
			http.Redirect(w, r, "/list", http.StatusFound)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		default:
			fmt.Fprintf(w, `{"uri": %q, "user": %q, "token": %q, "agent": %q}`, r.RequestURI,
				user+":"+password, r.Header.Get("X-Token"), r.Header.Get("User-Agent"))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func ask(t *testing.T, s *Source, argument any) (*data.Map, error, string) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	q := pillar.Query{ID: "web 1/ä", Argument: argument, Opts: data.NewMap(), Log: log,
		Grains: data.NewMap("os", "Debian 12", "n", data.NewMap("a", int64(1)), "none", "")}
	got, err := s.Pillar(t.Context(), q)
	text := ""
	for _, e := range told.AllEntries() {
		text += e.Message + "\n"
	}
	return got, err, text
}

func TestRequests(t *testing.T) {
	at := server(t)
	const agent = "'agent': 'Salt/3006.18 http.query()'"
	for _, c := range []struct {
		argument any
		want     string
	}{
		{at + "/%s?id=%s", "{'uri': '/web%201/%C3%A4?id=web%201/%C3%A4', 'user': ':', 'token': '', " + agent + "}"},
		{data.NewMap("url", at+"/<os>/<n:a>", "with_grains", true),
			"{'uri': '/Debian%2012/1', 'user': ':', 'token': '', " + agent + "}"},
		{data.NewMap("url", at+"/a", "username", "salt", "password", "p:w",
			"header_dict", data.NewMap("X-Token", "t")),
			"{'uri': '/a', 'user': 'salt:p:w', 'token': 't', " + agent + "}"},
		{data.NewMap("url", at+"/a", "auth", []any{"u", "p"}, "header_dict", "None", "username",
			"None"), "{'uri': '/a', 'user': 'u:p', 'token': '', " + agent + "}"},
		{strings.Replace(at, "http://", "http://me:pw@", 1) + "/a",
			"{'uri': '/a', 'user': 'me:pw', 'token': '', " + agent + "}"},
	} {
		for _, s := range []*Source{JSON(), YAML()} {
			for range 2 {
				got, err, log := ask(t, s, c.argument)
				if err != nil || log != "" || data.Repr(got) != c.want {
					t.Errorf("%s %s\ngot  %s, %v, log %s\nwant %s", s.Name(), data.Repr(c.argument),
						data.Repr(got), err, log, c.want)
				}
			}
		}
	}
	got, err, _ := ask(t, JSON(), data.NewMap("url", at+"/moved", "namespace", "mine"))
	if err != nil || data.Repr(got) != "{'mine': [1, 2]}" {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
}

func TestWhatCannotBeUsed(t *testing.T) {
	at := server(t)
	secret := strings.Replace(at, "http://", "http://me:hunter2@", 1)
	for _, c := range []struct {
		source         *Source
		argument       any
		err, log, none string
	}{
		{JSON(), at + "/list", "the response is not a dictionary", "", ""},
		{JSON(), at + "/broken", "the answer is not JSON", "", ""},
		{YAML(), at + "/broken", "the answer is not YAML", "", ""},
		{JSON(), at + "/empty", "the answer is not JSON", "", ""},
		{YAML(), at + "/empty", "", "", ""},
		{JSON(), secret + "/missing?token=hunter2", "", "Error on minion 'web 1/ä' http query: " +
			at + "/missing\nMore Info:\n\nerror: HTTP 404 Not Found\n", ""},
		{JSON(), "http://127.0.0.1:1/x?hunter2", "",
			"http://127.0.0.1:1/x\nMore Info:\n\nerror: dial tcp 127.0.0.1:1", ""},
		{JSON(), at + "/endless", "", "error: the answer has more than 33554432 bytes", ""},
		{JSON(), data.NewMap("url", at+"/<none>", "with_grains", true), "",
			"Unable to get minion 'web 1/ä' grain: none", ""},
		{YAML(), data.NewMap("url", at, "namespace", "x"),
			"ext_pillar() got an unexpected keyword argument 'namespace'", "", ""},
	} {
		got, err, log := ask(t, c.source, c.argument)
		told := ""
		if err != nil {
			told = err.Error()
		}
		if got.Len() != 0 || told != c.err || !strings.Contains(log, c.log) ||
			c.log == "" && log != "" || strings.Contains(log+told, "hunter2") {
			t.Errorf("%s: %s, %v, log %s", data.Repr(c.argument), data.Repr(got), err, log)
		}
	}
}

func TestValuesStayBelowTheirFolder(t *testing.T) {
	at := server(t)
	for value, ok := range map[string]bool{"web": true, "a..b": true, "web/a": true, "..": false,
		"../list": false, "a/../../list": false, `..\list`: false, "./list": false} {
		log, _ := logtest.NewNullLogger()
		q := pillar.Query{ID: value, Argument: at + "/hosts/%s", Opts: data.NewMap(), Log: log,
			Grains: data.NewMap("role", value)}
		_, byID := JSON().Pillar(t.Context(), q)
		q.ID, q.Argument = "web1", data.NewMap("url", at+"/hosts/<role>", "with_grains", true)
		_, byGrain := JSON().Pillar(t.Context(), q)
		if ok != (byID == nil) || ok != (byGrain == nil) {
			t.Errorf("%q: as id %v, as grain %v", value, byID, byGrain)
		}
	}
	q := pillar.Query{ID: "web1", Argument: "http://%s/", Opts: data.NewMap(), Grains: data.NewMap()}
	if _, err := JSON().Pillar(t.Context(), q); err == nil {
		t.Error("the minion chooses the server")
	}
}

func TestASilentServerIsLeft(t *testing.T) {
	host, port := returnertest.Silent(t)
	ctx, cancel := context.WithCancel(t.Context())
	log, told := logtest.NewNullLogger()
	q := pillar.Query{ID: "web1", Argument: fmt.Sprintf("http://%s:%d/", host, port),
		Opts: data.NewMap("http_request_timeout", 0.05), Log: log}
	got, err := JSON().Pillar(ctx, q)
	if got.Len() != 0 || err != nil || len(told.AllEntries()) == 0 {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
	cancel()
}

func TestEntriesAreChecked(t *testing.T) {
	for _, c := range []struct {
		argument any
		want     string
	}{
		{"https://example.com/%s", ""},
		{data.NewMap("url", "http://example.com/<os>", "with_grains", true, "auth", nil), ""},
		{"example.com/%s", "url: expected an address of http or https"},
		{data.NewMap("url", int64(1)), "url: expected an address"},
		{data.NewMap("uri", "http://x"), "ext_pillar() got an unexpected keyword argument 'uri'"},
		{data.NewMap("url", "http://x", "header_dict", "X: y"), "header_dict: expected a dictionary"},
		{data.NewMap("url", "http://x", "auth", "digest"), "auth: expected a list of a user and a password"},
		{data.NewMap("url", "http://x", "namespace", []any{"a"}), "namespace: expected a text"},
		{nil, "url: expected an address"},
		{"https://%s.example.com/", "url: %s and <GRAIN> may only follow the server's name"},
		{"https://me:%s@example.com/", "url: %s and <GRAIN> may only follow the server's name"},
		{data.NewMap("url", "https://example.com?<os>", "with_grains", true), ""},
		{data.NewMap("url", "https://<site>.example.com/a", "with_grains", true),
			"url: %s and <GRAIN> may only follow the server's name"},
	} {
		err := JSON().Check(c.argument, data.NewMap())
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", data.Repr(c.argument), err, c.want)
		}
	}
}

func TestSecretsGoToNoOtherServer(t *testing.T) {
	other := server(t)
	s := httptest.NewServer(http.RedirectHandler(other+"/a", http.StatusFound))
	t.Cleanup(s.Close)
	got, err, log := ask(t, JSON(),
		data.NewMap("url", s.URL, "username", "salt", "password", "hunter2",
			"header_dict", data.NewMap("X-Token", "hunter2")))
	if err != nil || log != "" || got.Text("user") != ":" || got.Text("token") != "" {
		t.Errorf("%s, %v, log %s", data.Repr(got), err, log)
	}
}
