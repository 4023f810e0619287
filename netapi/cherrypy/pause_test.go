package cherrypy_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/netapitest"
)

// TestThePauseIsAnswered guesses passwords: the answers within the pause say so, at both addresses that take
// a password, and do not depend on whether there is the user.
func TestThePauseIsAnswered(t *testing.T) {
	need.Time(t, "a wrong password costs a second")
	s := netapitest.Start(t, door(), "main")
	for _, c := range []struct{ path, user, chunk string }{
		{"/login", "saltdev", `{"username": "saltdev", "password": "wrong", "eauth": "file"}`},
		{"/run", "no-such-user", `{"client": "local", "tgt": "*", "fun": "test.ping",
			"username": "no-such-user", "password": "wrong", "eauth": "file"}`},
	} {
		var all sync.WaitGroup
		answers := make([]*netapitest.Reply, 12)
		for i := range answers {
			all.Go(func() { answers[i] = s.Do(t, "POST", c.path, c.chunk, "Content-Type", asJSON, "Accept", asJSON) })
		}
		all.Wait()
		paused := 0
		for _, got := range answers {
			if got.Status == 401 {
				continue
			}
			paused++
			want := fmt.Sprintf(`{"status": 429, "return": "too many wrong passwords: try again in %s s"}`, got.Header.Get("Retry-After"))
			if got.Status != 429 || string(got.Body) != want || strings.Contains(string(got.Body), " 0 s") {
				t.Errorf("%s of %s: %d %s, with %v", c.path, c.user, got.Status, got.Body, got.Header)
			}
		}
		if paused == 0 {
			t.Errorf("%s of %s: none of %d guesses meets the pause", c.path, c.user, len(answers))
		}
	}
}

// TestALoginNamesTheMissingField checks that the status is Salt's all the same.
func TestALoginNamesTheMissingField(t *testing.T) {
	s := netapitest.Start(t, door(), "main")
	for field, body := range map[string]string{"eauth": "username=saltdev&password=saltdev", "password": "username=saltdev&eauth=file",
		"username": "password=x&eauth=file"} {
		s.Do(t, "POST", "/login", body, "Content-Type", "application/x-www-form-urlencoded", "Accept", asJSON).
			Want(t, "without "+field, 401, "Could not authenticate using provided credentials: the field "+field+" is missing")
	}
}
