package console_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/netapi"
)

func TestLogin(t *testing.T) {
	b := open(t)
	got := b.get(t, "/minions?q=web*")
	got.want(t, 200, "Log in", `name="next" value="/minions?q=web*"`, "<option>file</option>")

	got.want(t, 200, `href="/oidc/login?next=%2Fconsole%2Fminions%3Fq%3Dweb%2A"`)
	got.lacks(t, "<option>oidc</option>")

	b.post(t, "/login", "username", "saltdev", "password", "wrong", "eauth", "file").
		want(t, 401, "The name, the password or the system is wrong.", `value="saltdev"`)

	got = b.post(t, "/login", "username", "saltdev", "password", "saltdev", "eauth", "file", "next", "/minions?q=web*")
	got.want(t, 200, "saltdev", "Log out")
	if got.path != "/console/minions?q=web*" {
		t.Errorf("after the login: %s", got.path)
	}
	b.get(t, "/nowhere").want(t, 404, "There is no such page.")
	b.post(t, "/logout").want(t, 200, "Log in")
	b.get(t, "/minions").want(t, 200, "Log in")
}

// A login within the pause after wrong passwords says when to try again.
func TestLoginWithinThePause(t *testing.T) {
	need.Time(t, "a wrong password costs a second")
	b := open(t)
	var all sync.WaitGroup
	answers := make([]*page, 12)
	for i := range answers {
		all.Go(func() { answers[i] = b.post(t, "/login", "username", "saltdev", "password", "wrong", "eauth", "file") })
	}
	all.Wait()
	paused := 0
	for _, got := range answers {
		if got.status == 401 {
			continue
		}
		paused++
		got.want(t, 429, "Too many wrong passwords: try again in "+got.header.Get("Retry-After")+" s.", `value="saltdev"`)
	}
	if paused == 0 {
		t.Errorf("none of %d guesses meets the pause", len(answers))
	}
}

// address returns the address of the console.
func (b *browser) address(t *testing.T) *url.URL {
	t.Helper()
	u, err := url.Parse(b.Server.URL + "/console/")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// setCookie gives the browser a cookie of the console.
func (b *browser) setCookie(t *testing.T, name, value string) {
	t.Helper()
	b.client.Jar.SetCookies(b.address(t), []*http.Cookie{{Name: name, Value: value, Path: "/console/"}})
}

// A login ends the session that the browser has.
func TestLoginEndsTheSessionBefore(t *testing.T) {
	b := open(t)
	b.logIn(t, "saltdev")
	before := b.client.Jar.Cookies(b.address(t))
	b.logIn(t, "limited").want(t, 200, "limited")
	b.setCookie(t, "brine_console", before[0].Value)
	b.get(t, "/rights").want(t, 200, "Log in")
}

// A form that is sent without a session leads back to the form after the login, without its arguments.
func TestFormWithoutSession(t *testing.T) {
	b := open(t)
	got := b.post(t, "/run", "tgt", "web*", "tgt_type", "glob", "fun", "test.arg", "args", "secret=1", "batch", "10%")
	got.want(t, 200, "Log in", "Your session has ended, and nothing was sent.")
	if !strings.HasPrefix(got.path, "/console/login?next=%2Frun%3F") || strings.Contains(got.path, "secret") {
		t.Errorf("the login is at %s", got.path)
	}
	u, err := url.Parse(got.path)
	if err != nil {
		t.Fatal(err)
	}
	got = b.post(t, "/login", "username", "saltdev", "password", "saltdev", "eauth", "file", "next", u.Query().Get("next"))
	got.want(t, 200, "Nothing was sent yet: your session had ended.", `name="tgt" value="web*"`, `name="fun" value="test.arg"`,
		`name="batch" value="10%"`, "data-keep")
	b.post(t, "/logout")
	for from, to := range map[string]string{"/jobs/20260101000000000000/apply": "/jobs/20260101000000000000?kept=1",
		"/minions/m1/grains": "/minions/m1?kept=1", "/queue/cancel": "/queue?kept=1", "/orchestrations": "/orchestrations?kept=1"} {
		if got := b.post(t, from, "job", "x"); got.path != "/console/login?next="+url.QueryEscape(to) {
			t.Errorf("%s leads to %s", from, got.path)
		}
	}
}

// A login leads nowhere but to the console.
func TestLoginGoesNowhereElse(t *testing.T) {
	for _, next := range []string{"https://a.example/", "//a.example/", `/\a.example/`, "javascript:alert(1)", "/login?next=/login", "", "a"} {
		b := open(t)
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		got := b.post(t, "/login", "username", "saltdev", "password", "saltdev", "eauth", "file", "next", next)
		if to := got.header.Get("Location"); got.status != 303 || to != "/console/" {
			t.Errorf("next %q: %d, to %q", next, got.status, to)
		}
	}
}

// The page of another site cannot send a form with the cookie of its visitor.
func TestFormOfAnotherSite(t *testing.T) {
	b := open(t)
	b.logIn(t, "saltdev")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.Server.URL+"/console/logout", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://a.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: %d", answer.StatusCode)
	}
	b.get(t, "/minions").want(t, 200, "Log out")
}

// A page of another site, or of another port of this one, can lead here by a link, and not by a part of it.
func TestPartOfAnotherSite(t *testing.T) {
	b := open(t)
	b.logIn(t, "saltdev")
	for _, c := range []struct {
		site, mode, dest string
		status           int
	}{
		{"same-site", "no-cors", "image", 403}, {"cross-site", "no-cors", "script", 403}, {"cross-site", "navigate", "iframe", 403},
		{"same-site", "cors", "empty", 403}, {"same-site", "", "", 403},
		{"cross-site", "navigate", "document", 200}, {"same-origin", "cors", "empty", 200}, {"none", "navigate", "document", 200},
		{"", "", "", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.Server.URL+"/console/rights", nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Site": c.site, "Mode": c.mode, "Dest": c.dest} {
			if value != "" {
				r.Header.Set("Sec-Fetch-"+name, value)
			}
		}
		answer, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%+v: %d", c, answer.StatusCode)
		}
	}
}

// The root without its slash leads to the first page, keeps the query and has the headers of all pages.
func TestRootWithoutSlash(t *testing.T) {
	b := open(t)
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	got := b.get(t, "?q=web*")
	if to := got.header.Get("Location"); got.status != 301 || to != "/console/?q=web*" || got.header.Get("Content-Security-Policy") == "" {
		t.Errorf("%d, to %q, headers %v", got.status, to, got.header)
	}
}

// Who has logged in at a provider is logged in here; another session of the API does not count.
func TestLoginAtProvider(t *testing.T) {
	b := open(t)
	address, err := url.Parse(b.Server.URL)
	if err != nil {
		t.Fatal(err)
	}
	use := func(id string) {
		b.client.Jar.SetCookies(address, []*http.Cookie{{Name: "session_id", Value: id, Path: "/"}})
	}
	made, err := b.Gate.LogIn(t.Context(), data.NewMap("username", "saltdev", "password", "saltdev", "eauth", "file"),
		netip.MustParseAddr("127.0.0.1"), "")
	if err != nil {
		t.Fatal(err)
	}
	use(made.ID)
	b.get(t, "/minions").want(t, 200, "Log in")
	if made, err = b.Gate.Enter(netapi.Proven{User: "ann"}, netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Fatal(err)
	}
	use(made.ID)
	b.get(t, "/nowhere").want(t, 404, "ann", "Log out")
	b.post(t, "/logout").want(t, 200, "Log in")
	b.get(t, "/minions").want(t, 200, "Log in")
}

// A sentBy sends requests as a page (navigate) or its script (cors) does.
type sentBy string

func (mode sentBy) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Sec-Fetch-Mode", string(mode))
	return http.DefaultTransport.RoundTrip(r)
}

// The text for the next page is not lost to the script that renews a part of a page.
func TestNoticeIsLeftToThePage(t *testing.T) {
	b := open(t)
	b.logIn(t, "saltdev")
	b.setCookie(t, "brine_notice", "Pressed")
	b.client.Transport = sentBy("cors")
	b.get(t, "/rights").lacks(t, "Pressed")
	b.client.Transport = sentBy("navigate")
	b.get(t, "/rights").want(t, 200, "Pressed")
	b.get(t, "/rights").lacks(t, "Pressed")
}
