package cherrypy_test

import (
	"net/http"
	"testing"

	"github.com/brineproject/brine/internal/test/netapitest"
)

// An event stream takes all keys of its description; others are a mistake.
func TestKeysOfEvents(t *testing.T) {
	s := netapitest.Start(t, door(), "main")
	session := s.LogIn(t, "saltdev")
	for query, want := range map[string]int{"tag=salt/*&job=1&after=x-1": http.StatusOK, "befor=1": http.StatusNotFound} {
		if got := s.Do(t, http.MethodGet, "/events?"+query, "", "X-Auth-Token", session); got.Status != want {
			t.Errorf("%s: %d %s", query, got.Status, got.Body)
		}
	}
}
