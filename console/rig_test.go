package console_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/console"
	"github.com/brineproject/brine/internal/test/netapitest"
	"github.com/brineproject/brine/netapi"
)

// A browser is what a test sees of a console: it keeps cookies and follows redirects, and has no
// script.
type browser struct {
	*netapitest.Site
	client *http.Client
	bus    *netapi.Bus // of fire
}

// A page is an answer of the console.
type page struct {
	status int
	path   string // with the query, after redirects
	header http.Header
	body   string
	wanted bool // want has checked another status than 200
}

// open starts a master with minions and a console in front of it.
func open(t *testing.T, ids ...string) *browser {
	t.Helper()
	return openWith(t, nil, ids...)
}

// openWith is open with a change to the configuration of each minion.
func openWith(t *testing.T, edit func(*config.Minion), ids ...string) *browser {
	t.Helper()
	site := netapitest.Start(t, netapitest.Door{
		Minion:  edit,
		Section: func(s *netapi.Settings) *netapi.Door { return s.Cherrypy },
		Open: func(p netapitest.Parts) (http.Handler, error) {
			return console.New(console.Options{Gate: p.Gate, API: p.Gate, Provider: "/oidc/login", Hub: p.Hub, Root: "/console",
				Systems: []string{"file", "oidc"}, Master: "the master", Log: p.Log})
		},
	}, "main", ids...)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{Site: site, client: &http.Client{Jar: jar}}
}

// logIn logs a user in, whose password is their name.
func (b *browser) logIn(t *testing.T, user string) *page {
	t.Helper()
	got := b.post(t, "/login", "username", user, "password", user, "eauth", "file")
	if got.status != http.StatusOK {
		t.Fatalf("log in: %d %s", got.status, got.body)
	}
	return got
}

// get gets a page below the root of the console.
func (b *browser) get(t *testing.T, path string) *page {
	t.Helper()
	return b.send(t, http.MethodGet, path, "")
}

// post sends a form with pairs of names and values.
func (b *browser) post(t *testing.T, path string, fields ...string) *page {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return b.send(t, http.MethodPost, path, form.Encode())
}

func (b *browser) send(t *testing.T, method, path, body string) *page {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.Server.URL+"/console"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &page{status: answer.StatusCode, path: answer.Request.URL.RequestURI(), header: answer.Header, body: string(text)}
}

// want checks that a page has a status and contains texts.
func (p *page) want(t *testing.T, status int, texts ...string) {
	t.Helper()
	if p.status != status {
		t.Errorf("%s: status %d, want %d", p.path, p.status, status)
	}
	p.wanted = p.status == status
	for _, text := range texts {
		if !strings.Contains(p.body, text) {
			t.Errorf("%s has no %q:\n%s", p.path, text, p.body)
		}
	}
}

// lacks checks that a page does not contain a text. A page that has failed lacks everything, so that its
// status must be 200, or one that want has checked.
func (p *page) lacks(t *testing.T, text string) {
	t.Helper()
	if p.status != http.StatusOK && !p.wanted {
		t.Errorf("%s: status %d, want 200", p.path, p.status)
	}
	if strings.Contains(p.body, text) {
		t.Errorf("%s has %q:\n%s", p.path, text, p.body)
	}
}
