package http_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	runner "github.com/brineproject/brine/runners/http"
)

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	opts := data.NewMap("cachedir", t.TempDir())
	functions, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: opts, Registries: map[string]*loader.Registry{"modules": functions}}
	r, err := loader.NewRegistry(env, []loader.Plugin{runner.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestQuery asks a real server by http.query.
func TestQuery(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		w.Header().Set("Content-Type", "application/json")
		if q.URL.Path != "/x.json" {
			http.NotFound(w, q)
			return
		}
		_, _ = w.Write([]byte(`{"method": "` + q.Method + `", "sent": "` + string(body) + `"}`))
	}))
	defer web.Close()
	r := registry(t)
	for range 2 {
		v, err := r.Invoke(t.Context(), "http.query", []any{web.URL + "/x.json"},
			data.NewMap("method", "POST", "data", "d", "decode", true, "status", true, "output", true))
		want := data.NewMap("body", `{"method": "POST", "sent": "d"}`, "status", int64(200),
			"dict", data.NewMap("method", "POST", "sent", "d"))
		if err != nil || !data.Equal(v, want) {
			t.Errorf("got %s, %v, want %s", data.Repr(v), err, data.Repr(want))
		}
	}
	v, err := r.Invoke(t.Context(), "http.query", []any{web.URL + "/none"}, nil)
	if ret, ok := v.(*data.Map); err != nil || !ok || ret.Value("error") != "HTTP 404: Not Found" ||
		ret.Value("status") != int64(404) {
		t.Errorf("of what is not there: %s, %v", data.Repr(v), err)
	}
}

// TestUpdateCaBundle keeps a bundle if http.update_ca_bundle downloads something else.
func TestUpdateCaBundle(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("no certificate")) }))
	defer web.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := registry(t).Invoke(t.Context(), "http.update_ca_bundle", []any{file, web.URL}, nil)
	if text, readErr := os.ReadFile(file); readErr != nil || string(text) != "old" {
		t.Errorf("the bundle is %q, %v (%v)", text, readErr, err)
	}
}
