package reactor

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

func rendered(t *testing.T, opts *data.Map) Render {
	t.Helper()
	reg, err := loader.NewRegistry(&loader.Env{Opts: opts}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := render.New(render.Options{Env: reg.Env(), Renderers: stdrender.Renderers()})
	if err != nil {
		t.Fatal(err)
	}
	return Rendered(e)
}

func TestRenderedKnowsTheEvent(t *testing.T) {
	about := data.NewMap("tag", "salt/x",
		"data", data.NewMap("id", "web1", "list", []any{int64(1), "b"}, "evil",
			"{{ 7 * 7 }}: {% raise('x') %}"))
	for name, tt := range map[string]struct{ text, want string }{
		"plain": {"a: {b: [1]}", "{'a': {'b': [1]}}"},
		"tag and data": {"a: '{{ tag }} {{ data.id }} {{ data['list'] | length }}'",
			"{'a': 'salt/x web1 2'}"},
		"a condition":      {"{% if data['id'].startswith('web') %}\na: 1\n{% endif %}", "{'a': 1}"},
		"nothing":          {"{% if data.id == 'db1' %}\na: 1\n{% endif %}", "{}"},
		"a pipe":           {"#!jinja|json\n{\"a\": \"{{ data.id }}\"}", "{'a': 'web1'}"},
		"yaml alone":       {"#!yaml\na: '{{ tag }}'", "{'a': '{{ tag }}'}"},
		"values are data":  {"a: {{ data.evil | json }}", "{'a': '{{ 7 * 7 }}: {% raise(\\'x\\') %}'}"},
		"a name of an SLS": {"a: '{{ sls }}{{ saltenv }}'", "{'a': 'base'}"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := rendered(t, data.NewMap())(t.Context(), "/srv/reactor/x.sls", []byte(tt.text), about)
			if got := data.Repr(v); err != nil || got != tt.want &&
				strings.ReplaceAll(got, `"`, "'") != strings.ReplaceAll(tt.want, `\'`, "'") {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestRenderedTellsTheFileAndTheFault(t *testing.T) {
	_, err := rendered(t, data.NewMap())(t.Context(), "/srv/reactor/x.sls",
		[]byte("a: {{ data.id.nothing() }}"), data.NewMap("tag", "x", "data", data.NewMap()))
	if err == nil || !strings.HasPrefix(err.Error(),
		"/srv/reactor/x.sls: Jinja variable 'dict object' has no attribute 'id'") {
		t.Errorf("got %v", err)
	}
}

func TestAnotherDefaultPipeCountsForPlainFilesToo(t *testing.T) {
	v, err := rendered(t, data.NewMap("renderer", "json"))(t.Context(),
		"/x.sls", []byte(`{"a": NaN}`), data.NewMap())
	if err != nil || data.Repr(v) != "{'a': nan}" {
		t.Errorf("got %s, %v", data.Repr(v), err)
	}
}
