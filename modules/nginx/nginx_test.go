package nginx

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// install puts a program nginx into the search path; it is never run.
func install(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nginx"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

// testdata/calls.json has the commands and results of Salt 3006.18.
func TestCalls(t *testing.T) {
	replay.Check(t, "testdata/calls.json", replay.Options{Root: install(t), Plugins: []loader.Plugin{Plugin()}})
}

// The texts of the page are those of nginx 1.22; the results are those of Salt 3006.18.
func TestStatus(t *testing.T) {
	install(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/status":
			_, _ = w.Write([]byte("Active connections: 1 \nserver accepts handled requests\n 12 13 14 \n" +
				"Reading: 0 Writing: 1 Waiting: 2 \n"))
		case "/other":
			_, _ = w.Write([]byte("<html>\n"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/status": "{'active connections': 1, 'accepted': 12, 'handled': 13, 'requests': 14, " +
			"'reading': 0, 'writing': 1, 'waiting': 2}",
		"/other": "None",
		"/none":  "HTTP Error 404: Not Found",
	} {
		v, err := r.Invoke(t.Context(), "nginx.status", []any{server.URL + path}, nil)
		got := data.Repr(v)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s gives %s, want %s", path, got, want)
		}
	}
	for _, url := range []string{"file:///etc/passwd", "::"} {
		if v, err := r.Invoke(t.Context(), "nginx.status", []any{url}, nil); err == nil ||
			!strings.HasPrefix(err.Error(), "read the status page: ") {
			t.Errorf("%s gives %s, %v", url, data.Repr(v), err)
		}
	}
}

// Without the program the module says so.
func TestNoProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if m, err := newModule(&loader.Env{}); err == nil {
		t.Errorf("there is a module: %v", m)
	}
}

func FuzzPage(f *testing.F) {
	f.Add("Active connections: 1 \nserver accepts handled requests\n 12 12 9 \n" +
		"Reading: 0 Writing: 1 Waiting: 0 \n")
	f.Fuzz(func(t *testing.T, text string) {
		if numbers := page(text); numbers != nil && numbers.Len() != 7 {
			t.Errorf("%q has %s", text, data.Repr(numbers))
		}
	})
}

func FuzzBuild(f *testing.F) {
	f.Add("nginx version: nginx/1.22.1\nconfigure arguments: --with-cc-opt='-g -O2' --prefix=/usr")
	f.Fuzz(func(t *testing.T, text string) {
		if info, ok := build(strings.Split(text, "\n")).Value("info").([]any); !ok {
			t.Errorf("%q has no info: %s", text, data.Repr(info))
		}
	})
}
