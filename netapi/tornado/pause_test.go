package tornado_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// TestThePauseIsAnswered guesses passwords: the answers within the pause say so, also to a request with
// several chunks.
func TestThePauseIsAnswered(t *testing.T) {
	need.Time(t, "a wrong password costs a second")
	s := start(t)
	const login = `"username": "limited", "password": "wrong", "eauth": "file"`
	chunk := `{"client": "local", "tgt": "*", "fun": "test.ping", ` + login + `}`
	bodies := map[string]string{"/login": "{" + login + "}", "/run": "[" + chunk + ", " + chunk + "]"}
	var all sync.WaitGroup
	var mu sync.Mutex
	paused := map[string]int{}
	for range 9 {
		for path, body := range bodies {
			all.Go(func() {
				got := post(t, s, path, body)
				if got.Status != 429 {
					return
				}
				want := "429: Too Many Requests: too many wrong passwords: try again in " + got.Header.Get("Retry-After") + " s<"
				if got.Header.Get("Retry-After") == "" || !strings.Contains(string(got.Body), want) {
					t.Errorf("%s: %s with %v", path, got.Body, got.Header)
				}
				mu.Lock()
				defer mu.Unlock()
				paused[path]++
			})
		}
	}
	all.Wait()
	for path, body := range bodies { // the pause is longer than the second of the last mistake
		if paused[path] == 0 {
			t.Errorf("%s %s: no guess meets the pause", path, body)
		}
	}
}
