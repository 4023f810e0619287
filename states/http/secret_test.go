package http_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/http"
	state "github.com/brineproject/brine/states/http"
)

// Client secrets do not appear in any result, error or log.
func TestSecretsStayInTheRequest(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(s.Close)
	var logged bytes.Buffer
	log := logrus.New()
	log.SetOutput(&logged)
	log.SetLevel(logrus.TraceLevel)
	funcs, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(), Log: log},
		[]loader.Plugin{module.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	env := *funcs.Env()
	env.Registries = map[string]*loader.Registry{}
	if env.Registries["states"], err = loader.NewRegistry(&env, []loader.Plugin{state.Plugin()}); err != nil {
		t.Fatal(err)
	}
	secrets := []any{"header_dict", data.NewMap("Authorization", "marker", "X-Bad", "mar\nker"),
		"header_list", []any{"X-Key: marker"}, "data", "marker", "method", "POST",
		"params", data.NewMap("key", "marker"), "username", "u", "password", "marker"}
	for _, c := range []struct {
		address string
		more    []any
	}{
		{s.URL, secrets},
		{s.URL, append(slices.Clone(secrets[2:]), "header_dict", data.NewMap("Authorization", "marker"))},
		{"http://127.0.0.1:1/", secrets[2:]},
		{"http://u:marker@127.0.0.1:1/", nil},
		{"http://u:marker#@127.0.0.1:1/", nil},
		{"gopher://u:marker@127.0.0.1:1/", nil},
		{s.URL, []any{"test", true, "test_url", "http://u:marker@ho st/"}},
	} {
		for name, registry := range map[string]*loader.Registry{"module": funcs,
			"state": env.Registries["states"]} {
			words := data.NewMap(append([]any{"url", c.address, "status", true}, c.more...)...)
			if name == "state" {
				words.Delete("url")
				words.Update(data.NewMap("name", c.address, "status", int64(204)))
			}
			v, err := registry.Invoke(t.Context(), "http.query", nil, words)
			if text := strings.ReplaceAll(data.Repr(v), data.Repr(c.address),
				""); strings.Contains(text, "marker") ||
				err != nil && strings.Contains(err.Error(), "marker") {
				t.Errorf("the %s asks %s and says %s, %v", name, c.address, text, err)
			}
		}
	}
	if strings.Contains(logged.String(), "marker") {
		t.Errorf("the log has a secret:\n%s", logged.String())
	}
}

func TestArgumentsThatAreSecret(t *testing.T) {
	for _, plugin := range []loader.Plugin{module.Plugin(), state.Plugin()} {
		registry, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, []loader.Plugin{plugin})
		if err != nil {
			t.Fatal(err)
		}
		for _, fun := range []string{"http.query", "http.wait_for_successful_query"} {
			f, ok := registry.Func(fun)
			if !ok {
				t.Fatalf("there is no %s", fun)
			}
			for _, word := range []string{"password", "auth", "data", "header_dict",
				"header_list", "params"} {
				if !slices.Contains(f.Spec().Secrets, word) {
					t.Errorf("%s tells of %s", fun, word)
				}
			}
		}
	}
}
