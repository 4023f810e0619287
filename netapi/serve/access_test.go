package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTokensAreMasked(t *testing.T) {
	const hidden = "**********"
	for in, want := range map[string]string{
		"/events?token=abc":                   "/events?token=" + hidden,
		"/events?x=1&salt_token=abc&y=2":      "/events?x=1&salt_token=" + hidden + "&y=2",
		"/events?x=1;token=abc":               "/events?x=1;token=" + hidden,
		"/events?%74oken=abc":                 "/events?%74oken=" + hidden,
		"/events?TOKEN=abc#token=d":           "/events?TOKEN=" + hidden + "#token=" + hidden,
		"/login?username=a&password=b":        "/login?username=a&password=" + hidden,
		"/ws/abc":                             "/ws/" + hidden,
		"/api/ws/abc?format_events=1":         "/api/ws/" + hidden + "?format_events=1",
		"/ws%2Fabc":                           "/ws/" + hidden,
		"//w%73//abc/def":                     "//ws//" + hidden + "/" + hidden,
		"/all_events/abc":                     "/all_events/" + hidden,
		"/formatted_events/abc":               "/formatted_events/" + hidden,
		"https://h/ws/abc":                    "https://h/ws/" + hidden,
		"/ws":                                 "/ws",
		"/ws/":                                "/ws/",
		"/ws?token=":                          "/ws?token=" + hidden,
		"/hook/ws-one/x?kind=a":               "/hook/ws-one/x?kind=a",
		"/minions/web%2A?a=%zz":               "/minions/web%2A?a=%zz",
		"/static/all_events.js":               "/static/all_events.js",
		"*":                                   "*",
		"":                                    "",
		"/jobs?tokens":                        "/jobs?tokens",
		"/events?token=a&token=b&token":       "/events?token=" + hidden + "&token=" + hidden + "&token",
		"/ws/%zz/abc":                         "/ws/" + hidden + "/" + hidden,
		"/events?a=/ws/x&refresh_token=abc":   "/events?a=/ws/x&refresh_token=" + hidden,
		"/events?client_secret=a&auth=b&kind": "/events?client_secret=" + hidden + "&auth=" + hidden + "&kind",
	} {
		if got := masked(in); got != want {
			t.Errorf("masked(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestAccessLog checks the lines of requests, and that the file is opened again.
func TestAccessLog(t *testing.T) {
	d := plain()
	d.AccessLog = filepath.Join(t.TempDir(), "new", "access")
	s := run(t, d, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		hello(w, r)
	}, nil)
	ask := func(path string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", `a"b\c`)
		r.Header.Set("Referer", "http://h/?token=abc")
		r.Header.Set("X-Forwarded-For", "10.0.0.1")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	last := func(name string) string {
		var text string
		until(t, "a line in "+name, func() bool {
			b, err := os.ReadFile(name)
			text = string(b)
			return err == nil && strings.HasSuffix(text, "\n")
		})
		return text
	}
	ask("/ws/abc?token=def")
	const when = `\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [-+]\d{4}\]`
	want := regexp.MustCompile(`^127\.0\.0\.1 - - ` + when +
		` "GET /ws/\*{10}\?token=\*{10} HTTP/1\.1" 200 5 "http://h/\?token=\*{10}" "a\\"b\\\\c"\n$`)
	if got := last(d.AccessLog); !want.MatchString(got) {
		t.Errorf("the line is %s", got)
	}
	moved := d.AccessLog + ".1"
	if err := os.Rename(d.AccessLog, moved); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	ask("/gone")
	if got := last(d.AccessLog); !strings.Contains(got, `"GET /gone HTTP/1.1" 204 - `) {
		t.Errorf("the new file has %s", got)
	}
	if got := last(moved); strings.Count(got, "\n") != 1 {
		t.Errorf("the old file has %s", got)
	}
}

func TestErrorLogTakesWhatNetHTTPSays(t *testing.T) {
	d := secure(t, newAuthority(t))
	d.ErrorLog = filepath.Join(t.TempDir(), "errors")
	s := run(t, d, hello, nil)
	_, _ = get(t, &http.Client{}, "http://"+s.Addr().String())
	until(t, "a line", func() bool {
		b, _ := os.ReadFile(d.ErrorLog)
		return strings.Contains(string(b), "TLS handshake error from 127.0.0.1:")
	})
}

func FuzzAccessLine(f *testing.F) {
	f.Add("/ws/secretsecret?token=secretsecret", "x")
	f.Add("/events?a&;=%", "\x00\xff\"\\")
	f.Fuzz(func(t *testing.T, address, agent string) {
		got := clean(masked(address)) + orDash(agent)
		for i := range len(got) {
			if got[i] < ' ' || got[i] > '~' {
				t.Fatalf("%q has the byte %x", got, got[i])
			}
		}
		if path, _, _ := strings.Cut(address, "?"); strings.Contains(masked("/ws/secretsecret/"+path), "secretsecret/") {
			t.Errorf("%q is not masked", path)
		}
	})
}
