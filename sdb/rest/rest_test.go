package rest

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// The names in a query are words of the template, and not arguments of the renderer: those would have
// another template or file rendered, and the request sent to another host.
func TestQueriesNameNoTemplate(t *testing.T) {
	var got []*data.Map
	slsutil := loader.Plugin{Name: "slsutil", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("renderer", func(_ context.Context, a keywords) (any, error) {
			got = append(got, a.Kwargs)
			return "http://127.0.0.1:1/", nil
		})}}, nil
	}}
	modules, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, []loader.Plugin{slsutil})
	if err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(), Functions: modules}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	profile := data.NewMap("api", data.NewMap("url", "https://example.org/{{ user }}"))
	for _, query := range []string{"string=http://evil.example/", "path=/etc/shadow", "default_renderer=py",
		"saltenv=x", "sls=x", "context=x", "__pub_x=1", "user=a&path=/etc/shadow"} {
		if v, err := r.Invoke(t.Context(), "rest.get", []any{"api?" + query, profile}, nil); err == nil || len(got) > 0 {
			t.Fatalf("%s: %v, and the renderer gets %v", query, v, got)
		}
	}
	_, err = r.Invoke(t.Context(), "rest.get", []any{"api?user=fred", profile}, nil)
	if len(got) != 1 || got[0].Text("user") != "fred" || got[0].Text("string") != "https://example.org/{{ user }}" {
		t.Errorf("the renderer gets %v, %v", got, err)
	}
}

type keywords struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}
