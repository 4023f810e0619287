package http_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/http"
	"github.com/brineproject/brine/state/change"
	state "github.com/brineproject/brine/states/http"
)

// serve starts a server: /ok returns a text, /json a value, /later an error the first two times,
// and all others 404.
func serve(t *testing.T) (url string, states, funcs *loader.Registry) {
	t.Helper()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/ok":
			w.Header().Set("Content-Type", "text/plain")
			w.Write([]byte("all is well " +
				r.Method + r.URL.RawQuery + r.Header.Get("X-A") + user + password))
		case r.URL.Path == "/json":
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"a": [1]}`))
		case r.URL.Path == "/later" && asked.Add(1) > 2:
			w.Write([]byte("now"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	funcs, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, []loader.Plugin{module.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	env := *funcs.Env()
	env.Registries = map[string]*loader.Registry{}
	if states, err = loader.NewRegistry(&env, []loader.Plugin{state.Plugin()}); err != nil {
		t.Fatal(err)
	}
	env.Registries["states"] = states
	return s.URL, states, funcs
}

func TestQuery(t *testing.T) {
	url, states, funcs := serve(t)
	for _, c := range []struct {
		path  string
		test  bool
		words []any
		want  string
	}{
		{"/ok", false, nil, "False Either match text (match) or a status code (status) is required."},
		{"/ok", false, []any{"status", int64(200)}, "True Status 200 was found."},
		{"/no", false, []any{"status", int64(200)}, "False Status 200 was not found."},
		{"/no", false, []any{"status", []any{int64(404), int64(500)}, "status_type", "list"},
			"True Status 404 was found."},
		{"/ok", false, []any{"match", "well", "status", "2..", "status_type", "pcre"},
			`True Match text "well" was found. Status pattern "2.." was found.`},
		{"/ok", false, []any{"match", "^well", "match_type", "pcre"},
			`False Match pattern "^well" was not found.`},
		{"/ok", false, []any{"match", "well", "match_type", "nosuch"}, "None"},
		{"/ok", false, []any{"status", int64(200), "status_type", "nosuch"}, "None"},
		{"/ok", false, []any{"match", "ill", "status", int64(200)},
			`False Match text "ill" was not found. Status 200 was found.`},
		{"/no", false, []any{"status", []any{int64(200), int64(201)}, "status_type", "list"},
			"False Statuses [200, 201] were not found."},
		{"/ok", true, []any{"status", int64(200)}, "None Status 200 was not found. (TEST MODE)"},
	} {
		for range 2 {
			ctx := change.WithCall(t.Context(), &change.Call{Test: c.test, Run: "r"})
			v, err := states.Invoke(ctx, "http.query", nil,
				data.NewMap(append([]any{"name", url + c.path}, c.words...)...))
			ret, _ := v.(*data.Map)
			if got := strings.TrimSpace(data.Repr(ret.Value("result")) + " " +
				strings.TrimSpace(ret.Text("comment"))); err != nil || got != c.want {
				t.Errorf("%s %s\n got %s, %v\nwant %s", c.path, data.Repr(c.words), got, err, c.want)
			}
		}
	}
	for range 2 {
		v, err := states.Invoke(t.Context(), "http.wait_for_successful_query", nil,
			data.NewMap("name", url+"/later", "status", int64(200), "wait_for", int64(30),
				"request_interval", 0.01))
		if ret, _ := v.(*data.Map); err != nil || ret.Value("result") != true {
			t.Errorf("waiting gives %s, %v", data.Repr(v), err)
		}
	}
	for _, c := range []struct {
		fun, path string
		words     []any
		want      string
	}{
		{"query", "/ok", []any{"text", true, "params", data.NewMap("q", "1"), "header_dict",
			data.NewMap("X-A", "h"), "username", "u", "password", "p", "method", "POST"},
			"{'body': 'all is well POSTq=1hup', 'text': 'all is well POSTq=1hup'}"},
		{"query", "/json", []any{"decode", true}, `{'body': '{"a": [1]}', 'dict': {'a': [1]}}`},
		{"query", "/no", nil, "{'status': 404, 'error': 'HTTP 404: Not Found'}"},
		{"query", "/no", []any{"raise_error", false, "status", true}, "{'body': '', 'status': 404}"},
		{"wait_for_successful_query", "/no", []any{"wait_for", int64(0)},
			"{'status': 404, 'error': 'HTTP 404: Not Found'}"},
	} {
		for range 2 {
			if v, err := funcs.Invoke(t.Context(), "http."+c.fun, []any{url + c.path},
				data.NewMap(c.words...)); err != nil || data.Repr(v) != c.want {
				t.Errorf("%s %s %s\n got %s, %v\nwant %s", c.fun, c.path, data.Repr(c.words),
					data.Repr(v), err, c.want)
			}
		}
	}
	for range 2 {
		if _, err := funcs.Invoke(t.Context(), "http.query", []any{"nourl"},
			nil); loader.KindOf(err) != loader.KindExecution ||
			err.Error() != "Unsupported url scheme: nourl" {
			t.Errorf("what is no URL gives %v", err)
		}
	}
	if _, err := funcs.Invoke(t.Context(), "http.query", []any{url},
		data.NewMap("streaming_callback", "f")); loader.KindOf(err) != loader.KindExecution {
		t.Errorf("an argument that is not supported gives %v", err)
	}
}
