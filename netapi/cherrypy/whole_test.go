package cherrypy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/netapitest"
)

// TestLargeReturnsAreWhole orders a return of 700 kB, which the event bus trims, in each way in which
// returns are read.
func TestLargeReturnsAreWhole(t *testing.T) {
	s := netapitest.Start(t, door(), "main", "m1")
	session := s.LogIn(t, "saltdev")
	path, text := filepath.Join(t.TempDir(), "large"), strings.Repeat("0123456789", 70_000)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	send := func(method, to, body string) map[string]any {
		t.Helper()
		got := s.Do(t, method, to, body, "Content-Type", asJSON, "Accept", asJSON, "X-Auth-Token", session)
		if got.Status != 200 {
			t.Fatalf("%s %s: %d %.300s", method, to, got.Status, got.Body)
		}
		return got.JSON(t).(map[string]any)
	}
	check := func(what string, v any, keys ...string) {
		t.Helper()
		for _, key := range keys {
			m, _ := v.(map[string]any)
			v = m[key]
		}
		if got, _ := v.(string); got != text {
			t.Errorf("%s: %d bytes of %d: %.50v", what, len(got), len(text), v)
		}
	}
	first := func(answer map[string]any, field string) any { return answer[field].([]any)[0] }
	order := `"tgt": "*", "fun": "file.read", "arg": ["` + path + `"]`
	answer := first(send("POST", "/", `{"client": "local", "full_return": true, `+order+`}`), "return")
	check("local", answer, "m1", "ret")
	jid := answer.(map[string]any)["m1"].(map[string]any)["jid"].(string)
	check("local_batch", first(send("POST", "/", `{"client": "local_batch", "batch": "1", `+order+`}`), "return"), "m1")
	one := send("GET", "/jobs/"+jid, "")
	check("GET /jobs/JID", first(one, "return"), "m1")
	check("its info", first(one, "info"), "Result", "m1", "return")
	run := `{"client": "runner", "fun": "jobs.`
	check("jobs.lookup_jid", first(send("POST", "/", run+`lookup_jid", "arg": ["`+jid+`"]}`), "return"), "m1")
	check("jobs.print_job", first(send("POST", "/", run+`print_job", "jid": "`+jid+`"}`), "return"), jid, "Result", "m1", "return")
}
