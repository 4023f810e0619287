package saltapi

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// fetched returns the status and the body of a page, without following redirects.
func fetched(t *testing.T, address string) (int, string) {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// The console is below /console of the first door, which else answers as it does without one.
func TestConsole(t *testing.T) {
	for name, tt := range map[string]struct{ conf, root string }{
		"at the root":  {door, ""},
		"below a path": {door + "  root_prefix: /api\n", "/api"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, tt.conf+"console: true\n", Options{Connect: Connect})
			address := "http://" + r.awaitLog(t, `The salt-api is listening on (\S+) \(rest_cherrypy\)`)[1] + tt.root
			if status, text := fetched(t, address+"/console/login"); status != 200 || !strings.Contains(text, "<option>pam</option>") {
				t.Errorf("the login page: %d %s", status, text)
			}
			if status, text := fetched(t, address+"/console"); status != 301 {
				t.Errorf("without a slash: %d %s", status, text)
			}
			if status, text := fetched(t, address+"/"); status != 200 || !strings.Contains(text, "local_async") {
				t.Errorf("the API: %d %s", status, text)
			}
			r.stop()
			r.end(t)
		})
	}
}

// Without the option there is no console.
func TestNoConsole(t *testing.T) {
	r := start(t, door, Options{Connect: Connect})
	address := r.awaitLog(t, `The salt-api is listening on (\S+) \(rest_cherrypy\)`)[1]
	if status, text := fetched(t, "http://"+address+"/console/login"); status != 404 {
		t.Errorf("a console that nobody switched on: %d %s", status, text)
	}
}

// With the console alone, a door is open to this host, and no option is missing.
func TestConsoleNeedsNoSection(t *testing.T) {
	if faults, warnings := judge(t, "console: true\nexternal_auth: {pam: {ann: [.*]}}\n"); faults != "" || warnings != "" {
		t.Errorf("faults %q, warnings %q", faults, warnings)
	}
	if faults, _ := judge(t, "console: true\nrest_cherrypy: {disable_ssl: true}\n"); !strings.Contains(faults, "no port to listen on") {
		t.Errorf("a section without a port: %q", faults)
	}
}
