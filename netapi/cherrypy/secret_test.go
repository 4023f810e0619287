package cherrypy_test

import (
	"bufio"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/netapitest"
)

// TestSecretResultsOfRunners checks that a secret result reaches who has ordered it, and nobody who reads events.
func TestSecretResultsOfRunners(t *testing.T) {
	s := netapitest.Start(t, door(), "main", "m1")
	session := s.LogIn(t, "saltdev")
	end, events := openStream(t, s, session)
	defer end()
	answer := s.Do(t, "POST", "/", `{"client": "runner", "fun": "pillar.show_pillar", "kwarg": {"minion": "m1"}}`,
		"Content-Type", asJSON, "Accept", asJSON, "X-Auth-Token", session)
	const secret = `"hidden"` // the value of secretpw
	answer.Want(t, "order", 200, secret)
	if seen := untilReturn(t, events); strings.Contains(seen, secret) || !strings.Contains(seen, "*****") {
		t.Errorf("an event has the pillar: %s", seen)
	}
}

// untilReturn returns the lines of a stream up to the event of a runner's return.
func untilReturn(t *testing.T, events *bufio.Reader) (lines string) {
	t.Helper()
	for {
		line, err := events.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %s", err, lines)
		}
		lines += line
		if strings.HasPrefix(line, "data:") && strings.Contains(line, "salt/run/") && strings.Contains(line, "/ret") {
			return lines
		}
	}
}
