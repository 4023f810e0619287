package console_test

import (
	"net/http"
	"testing"
)

func TestLogin(t *testing.T) {
	b := open(t)
	got := b.get(t, "/minions?q=web*")
	got.want(t, 200, "Log in", `name="next" value="/minions?q=web*"`, "<option>file</option>")

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
