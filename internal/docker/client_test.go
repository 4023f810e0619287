package docker_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testdocker"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "unix /var/run/docker.sock",
		"unix://":                   "unix /var/run/docker.sock",
		"unix:///run/podman.sock":   "unix /run/podman.sock",
		"unix://run/x.sock":         "unix /run/x.sock",
		"http+unix:///x":            "unix /x",
		"tcp://10.0.0.1:2375":       "tcp 10.0.0.1:2375",
		"10.0.0.1:2375":             "tcp 10.0.0.1:2375",
		"http://h:1/prefix/":        "tcp h:1 /prefix",
		"https://h:2376":            "tcp h:2376 TLS",
		"tcp://[::1]:2375":          "tcp [::1]:2375",
		"tcp://:2375":               "tcp 127.0.0.1:2375",
		"tcp://h":                   "Invalid bind address format: port is required: tcp://h",
		"tcp://":                    "Invalid bind address format: tcp://",
		"tcp://user:secret@h:1":     "Invalid bind address format: tcp://user:xxxxx@h:1",
		"tcp://h:1?x=y":             "Invalid bind address format: tcp://h:1?x=y",
		"ssh://h":                   "Invalid bind address protocol: ssh://h",
		"npipe:////./pipe/x_engine": "Invalid bind address protocol: npipe:////./pipe/x_engine",
	} {
		addr, err := docker.ParseAddress(text, false)
		got := addr.Network + " " + addr.Dial
		if addr.Prefix != "" {
			got += " " + addr.Prefix
		}
		if addr.TLS {
			got += " TLS"
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("ParseAddress(%q) = %s, want %s", text, got, want)
		}
	}
	if addr, err := docker.ParseAddress("tcp://h:2376", true); err != nil || !addr.TLS {
		t.Errorf("with certificates tcp has TLS: %+v, %v", addr, err)
	}
}

func TestVersionLess(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{{"1.24", "1.24", false}, {"1.9", "1.24", true}, {"1.43", "1.24", false}, {"1", "1.0.1", true}, {"x", "1", true}} {
		if got := docker.VersionLess(tt.a, tt.b); got != tt.want {
			t.Errorf("VersionLess(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}

// serve starts a server with a handler that answers everything but the version.
func serve(t *testing.T, h http.HandlerFunc) *docker.Client {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ApiVersion": "1.43"}`)) })
	mux.HandleFunc("/v1.43/", h)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c, err := docker.New(t.Context(), docker.Options{URL: s.URL, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestErrors(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1.43/json":
			w.WriteHeader(404)
			_, _ = w.Write([]byte(`{"message": "No such container: x"}`))
		case "/v1.43/text":
			w.WriteHeader(500)
			_, _ = w.Write([]byte(" broken\n"))
		case "/v1.43/huge":
			w.WriteHeader(500)
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		case "/v1.43/wrong":
			_, _ = w.Write([]byte("{"))
		case "/v1.43/moved":
			w.Header().Set("Location", "/v1.43/empty")
			w.WriteHeader(http.StatusMovedPermanently)
		}
	})
	get := func(path string) (any, error) { return c.Call(t.Context(), docker.Request{Method: "GET", Path: path}) }
	for path, want := range map[string]string{"/json": "Error 404: No such container: x", "/text": "Error 500: broken",
		"/wrong": "read the answer to /wrong: "} {
		if _, err := get(path); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if _, err := get("/huge"); err == nil || len(err.Error()) > 70_000 || docker.StatusOf(err) != 500 {
		t.Errorf("an error of 1 MB has %d bytes", len(err.Error()))
	}
	if v, err := get("/moved"); err == nil || docker.StatusOf(err) != 0 {
		t.Errorf("a redirect is %v, %v", v, err)
	}
	if v, err := get("/empty"); v != nil || err != nil {
		t.Errorf("an empty answer is %v, %v", v, err)
	}
	if docker.StatusOf(errors.New("x")) != 0 {
		t.Error("an error of another kind has a status")
	}
}

// TestPath checks that names cannot become other paths.
func TestPath(t *testing.T) {
	var asked []string
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.RequestURI) })
	for _, name := range []string{"a", "a/b:c", "a?x=y", "a#b", "../../volumes/v", "a/../b", "a//b", "", "é %2e"} {
		_, err := c.Call(t.Context(), docker.Request{Method: "DELETE", Path: docker.Path("images", name)})
		if refused := docker.StatusOf(err) == 404; refused != (strings.Contains(name, "..") || strings.Contains(name, "//") || name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
	want := "/v1.43/images/a /v1.43/images/a/b:c /v1.43/images/a%3Fx=y /v1.43/images/a%23b /v1.43/images/%C3%A9%20%252e"
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("asked for\n%s, want\n%s", got, want)
	}
}

// TestSilence checks that a request to an engine that says nothing ends.
func TestSilence(t *testing.T) {
	hold := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/half") {
			_, _ = w.Write([]byte("["))
			w.(http.Flusher).Flush()
		}
		<-hold
	})
	defer close(hold)
	c = c.WithTimeout(50 * time.Millisecond)
	for _, path := range []string{"/all", "/half"} {
		_, err := c.Call(t.Context(), docker.Request{Method: "GET", Path: path})
		if err == nil || !strings.HasSuffix(err.Error(), "the engine sends nothing for 50ms") {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Call(ctx, docker.Request{Method: "GET", Path: "/all", Endless: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("a job that ended: %v", err)
	}
}

// slow is a body of five bytes that come one by one.
type slow struct{ left int }

func (s *slow) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(300 * time.Millisecond)
	s.left--
	p[0] = 'x'
	return 1, nil
}

// TestSlowBody checks that an engine is not silent while it takes what it is sent, and that a request may set
// a longer limit than the client's.
func TestSlowBody(t *testing.T) {
	need.Time(t, "a body is sent slowly")
	hold := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err != nil || len(text) == 0 {
			<-hold
		}
		_, _ = w.Write([]byte(`"taken"`))
	})
	defer close(hold)
	v, err := c.WithTimeout(time.Second).Call(t.Context(),
		docker.Request{Method: "POST", Path: "/load", Raw: &slow{5}})
	if v != "taken" || err != nil {
		t.Errorf("a body that takes longer than the limit: %v, %v", v, err)
	}
	c = c.WithTimeout(50 * time.Millisecond)
	_, err = c.Call(t.Context(), docker.Request{Method: "POST", Path: "/x", Silence: 200 * time.Millisecond})
	if err == nil || !strings.HasSuffix(err.Error(), "the engine sends nothing for 200ms") {
		t.Errorf("a request with a limit of its own: %v", err)
	}
}

func TestNew(t *testing.T) {
	for body, want := range map[string]string{
		`{"ApiVersion": "1.20"}`: "API versions below 1.24 are no longer supported by this library.",
		`{"Version": "1"}`:       `Error while fetching server API version: Invalid response from docker daemon: key "ApiVersion" is missing.`,
		`[]`:                     `Error while fetching server API version: Invalid response from docker daemon: key "ApiVersion" is missing.`,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		if _, err := docker.New(t.Context(), docker.Options{URL: s.URL}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
		s.Close()
	}
	socket := "unix://" + filepath.Join(t.TempDir(), "none.sock")
	if _, err := docker.New(t.Context(), docker.Options{URL: socket}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without an engine: %v", err)
	}
	if c, err := docker.New(t.Context(), docker.Options{URL: socket, Version: "1.40"}); err != nil || c.Version() != "1.40" {
		t.Errorf("a given version is not asked for: %v", err)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"ApiVersion": "1.43"}`))
	}))
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := docker.New(t.Context(), docker.Options{URL: s.URL, TLS: &docker.TLS{CA: ca}}); err != nil {
		t.Errorf("with the authority: %v", err)
	}
	if _, err := docker.New(t.Context(), docker.Options{URL: s.URL}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the authority: %v", err)
	}
	if _, err := docker.New(t.Context(), docker.Options{URL: s.URL, TLS: &docker.TLS{NoVerify: true}}); err != nil {
		t.Errorf("without verification: %v", err)
	}
}

func TestExec(t *testing.T) {
	e := testdocker.New()
	c, err := docker.New(t.Context(), docker.Options{URL: e.Listen(t)})
	if err != nil {
		t.Fatal(err)
	}
	post := func(path string, query url.Values, body *data.Map) {
		t.Helper()
		if _, err := c.Call(t.Context(), docker.Request{Method: "POST", Path: path, Query: query, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	post("/containers/create", url.Values{"name": {"c"}}, data.NewMap("Image", "busybox"))
	if _, err := c.Exec(t.Context(), "c", docker.Command{Argv: []string{"true"}}); docker.StatusOf(err) != 409 {
		t.Errorf("in a stopped container: %v", err)
	}
	post("/containers/c/start", nil, nil)
	for _, tt := range []struct {
		cmd  docker.Command
		want docker.Ran
	}{
		{docker.Command{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, docker.Ran{Code: 3, Stdout: "out\n", Stderr: "err\n"}},
		{docker.Command{Argv: []string{"cat"}, Stdin: []byte("text")}, docker.Ran{Stdout: "text"}},
		{docker.Command{Argv: []string{"true"}, Stdin: bytes.Repeat([]byte("x"), 1<<20)}, docker.Ran{}},
		{docker.Command{Argv: []string{"sh", "-c", "echo $A"}, Env: []string{"A=b"}}, docker.Ran{Stdout: "b\n"}},
		{docker.Command{Argv: []string{"sh", "-c", "echo err >&2"}, Merge: true}, docker.Ran{Stdout: "err\n"}},
	} {
		got, err := c.Exec(t.Context(), "c", tt.cmd)
		if got.PID = 0; err != nil || got != tt.want {
			t.Errorf("%q: %+v, %v, want %+v", tt.cmd.Argv, got, err, tt.want)
		}
	}
}

// TestExecEnds checks that the end of a job ends the wait for a program.
func TestExecEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/exec") {
			_, _ = w.Write([]byte(`{"Id": "e"}`))
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"))
		close(started)
		_, _ = conn.Read(make([]byte, 1)) // until the client closes
		conn.Close()
	}))
	s.Listener = l
	s.Start()
	defer s.Close()
	c, err := docker.New(t.Context(), docker.Options{URL: s.URL, Version: "1.43"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := c.Exec(ctx, "c", docker.Command{Argv: []string{"sleep"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestExecStartEnds checks that the wait for the start of a program has a limit.
func TestExecStartEnds(t *testing.T) {
	hold := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/start") {
			<-hold
		}
		_, _ = w.Write([]byte(`{"Id": "e"}`))
	})
	defer close(hold)
	c = c.WithTimeout(time.Second)
	_, err := c.Exec(t.Context(), "c", docker.Command{Argv: []string{"true"}})
	if err == nil || err.Error() != "start the program: the engine sends nothing for 1s" {
		t.Errorf("got %v", err)
	}
}
