package web

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/media"
)

func TestHookTag(t *testing.T) {
	for _, c := range []struct {
		address string
		rest    []string
		want    string
		status  int
	}{
		{"/hook", nil, "salt/netapi/hook", 0},
		{"/hook", []string{"a", "b/c"}, "salt/netapi/hook/a/b/c", 0},
		{"/my/hook/", []string{"hook", "a"}, "salt/netapi/hook/a", 0},
		{"/my/hook", []string{"a"}, "", 404},
		{"/my/hook", nil, "", 404},
		{"/hook", make([]string, mostHookParts+1), "", 404},
		{"/hook", []string{"a\nb"}, "", 400},
		{"/hook", []string{"\xff"}, "", 400},
	} {
		got, err := HookTag(c.address, c.rest)
		if got != c.want || (err != nil) != (c.status != 0) || err != nil && netapi.FaultOf(err).Status != c.status {
			t.Errorf("HookTag(%q, %q) = %q, %v, want %q, %d", c.address, c.rest, got, err, c.want, c.status)
		}
	}
}

func TestJobFilter(t *testing.T) {
	job := func(fun, target string) *data.Map {
		return data.NewMap("Function", fun, "User", "ann", "Target", target, "Target-type", "glob")
	}
	all := data.NewMap("1", job("test.ping", "m1"), "2", job("test.echo", "m*"), "3", job("cmd.run", "x"))
	for query, want := range map[string]string{
		"": "1 2 3", "limit=2": "3 2", "before=3": "2 1", "function=test.*": "2 1", "fun=test.*": "2 1", "minion=m1": "2 1", "target=m1": "1",
		"user=bob": "", "limit=1&function=test.*": "2",
	} {
		values, _ := url.ParseQuery(query)
		f, err := ParseJobFilter(values)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for id := range f.Apply(all).(*data.Map).All() {
			ids = append(ids, id.(string))
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q selects %q, want %q", query, got, want)
		}
	}
	several := data.NewMap("1",
		data.NewMap("Function", []any{"test.ping", "cmd.run"}, "Target", []any{"m1", "m2"}))
	if got := (JobFilter{function: "cmd.*", target: "m2"}).Apply(several).(*data.Map).Len(); got != 1 {
		t.Errorf("a job of several functions is %d jobs", got)
	}
	if got := (JobFilter{limit: 1}).Apply("no list"); got != "no list" {
		t.Errorf("another answer becomes %v", got)
	}
	if _, err := ParseJobFilter(url.Values{"fun": {"a"}, "function": {"b"}}); netapi.FaultOf(err).Status != 400 {
		t.Errorf("fun and function: %v", err)
	}
	if _, err := ParseJobFilter(url.Values{"limit": {"-1"}}); netapi.FaultOf(err).Status != 400 {
		t.Errorf("limit -1: %v", err)
	}
}

func TestOrigins(t *testing.T) {
	if _, err := NewOrigins([]string{"no origin"}); err == nil {
		t.Error("'no origin' is taken for an origin")
	}
	for _, c := range []struct {
		name           string
		listed         []string
		origin, header string
		allowed        string // Access-Control-Allow-Origin
		credentials    bool
		check          bool
	}{
		{"no browser", nil, "", "", "", false, true},
		{"another page", nil, "https://b.example", "", "", false, false},
		{"another page with a header", nil, "https://b.example", "X-Requested-With", "", false, true},
		{"a listed page", []string{"https://b.example"}, "https://b.example", "", "https://b.example", true, true},
		{"any page", []string{"*"}, "https://b.example", "", "*", false, false},
		{"a page of the same site", nil, "https://console.site.example", "", "", false, false},
		{"any page with a token", []string{"*"}, "https://b.example", "X-Auth-Token", "*", false, true},
	} {
		o, err := NewOrigins(c.listed)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}
		if c.header != "" {
			r.Header.Set(c.header, "x")
		}
		w := httptest.NewRecorder()
		if o.Answer(w, r, "POST") {
			t.Errorf("%s: POST is taken for a preflight", c.name)
		}
		h := w.Header()
		if got := h.Get("Access-Control-Allow-Origin"); got != c.allowed ||
			(h.Get("Access-Control-Allow-Credentials") == "true") != c.credentials {
			t.Errorf("%s: %v", c.name, h)
		}
		for _, method := range []string{http.MethodPost, http.MethodGet} { // GET of a websocket and of minions has effects
			r.Method = method
			if err := o.Check(r); (err == nil) != c.check || err != nil && netapi.FaultOf(err).Status != 403 {
				t.Errorf("%s: Check of %s: %v", c.name, method, err)
			}
		}
	}
}

func TestCredential(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if got := Credential(r); got != "" {
		t.Errorf("a credential %q from nowhere", got)
	}
	r.AddCookie(&http.Cookie{Name: "session_id", Value: "cookie"})
	r.Header.Set("X-Auth-Token", "") // SaltGUI sends this at its login
	if got := Credential(r); got != "cookie" {
		t.Errorf("Credential = %q, want that of the cookie", got)
	}
	r.Header.Set("X-Auth-Token", "header")
	if got := Credential(r); got != "header" {
		t.Errorf("Credential = %q, want that of the header", got)
	}
	if got := data.Repr(HookHeaders(r)); strings.Contains(got, "cookie") || strings.Contains(got, "header'") ||
		!strings.Contains(got, "192.0.2.1") {
		t.Errorf("headers of a hook: %s", got)
	}
}

// A cookie is for TLS alone where the request came over TLS, or the section says that a proxy speaks it.
func TestSecureCookie(t *testing.T) {
	for _, c := range []struct {
		name   string
		door   netapi.Door
		tls    *tls.ConnectionState
		secure bool
	}{
		{"no TLS", netapi.Door{}, nil, false}, {"TLS", netapi.Door{}, &tls.ConnectionState{}, true},
		{"TLS at a proxy", netapi.Door{SecureCookie: true}, nil, true},
	} {
		r := httptest.NewRequest(http.MethodPost, "/login", nil)
		r.TLS = c.tls
		r.Header.Set("X-Forwarded-Proto", "https") // anybody can send it
		w := httptest.NewRecorder()
		SetCookie(w, r, &c.door, "id", 1)
		if got := w.Result().Cookies()[0]; got.Secure != c.secure || !got.HttpOnly || got.SameSite != http.SameSiteStrictMode {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestFaultOf(t *testing.T) {
	own := &netapi.Fault{Status: 409, Text: "own"}
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{fmt.Errorf("order: %w", own), 409, "own"},
		{fmt.Errorf("read: %w", &media.Error{Status: 413, Text: "too large"}), 413, "too large"},
		{&netapi.Fault{Status: 401, Text: "login", Err: &media.Error{Status: 400, Text: "body"}}, 401, "login"},
		{io.ErrUnexpectedEOF, 500, "An unexpected error occurred"},
	} {
		if f := FaultOf(c.err); f.Status != c.status || f.Text != c.text {
			t.Errorf("%v is answered with %d %s", c.err, f.Status, f.Text)
		}
	}
}
