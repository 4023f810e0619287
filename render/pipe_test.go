package render_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// engine returns an engine with all renderers and with options given as key, value, key, value.
func engine(t testing.TB, files render.Files, opts ...any) *render.Engine {
	t.Helper()
	log := logging.Discard()
	reg, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(opts...), Log: log}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := render.New(render.Options{Env: reg.Env(), Files: files, Renderers: stdrender.Renderers()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRender(t *testing.T) {
	for _, tt := range []struct {
		name, text, pipe string
		opts             []any
		want             string // as Python prints it
	}{
		{"the default is jinja|yaml", "a: {{ 1 + 1 }}\n", "", nil, "{'a': 2}"},
		{"the option renderer is the default", "a: {{ 1 }}\n", "", []any{"renderer", "jinja"}, `'a: 1\n'`},
		{"a shebang wins", "#!yaml\na: '{{ 1 }}'\n", "jinja|yaml", nil, "{'a': '{{ 1 }}'}"},
		{"blanks around bars", "#!jinja | yaml\na: {{ 1 }}\n", "", nil, "{'a': 1}"},
		{"an old name of a pipe", "#!json_jinja\n{\"a\": {{ 1 }}}\n", "", nil, "{'a': 1}"},
		{"the path of an interpreter is no pipe", "#!/bin/sh\na: 1\n", "", nil, "{'a': 1}"},
		{"white space alone is nothing", " \n\t\n", "", nil, "{}"},
		{"YAML that is nothing is an empty map", "# only this\n", "", nil, "{}"},
		{"order is kept", "z: 1\na: 2\n", "", nil, "{'z': 1, 'a': 2}"},
		{"an argument of the renderer jinja", "#!jinja -s|yaml\na: {{ 1 }}\n", "", nil, "{'a': 1}"},
		{"a renderer that is not in the white list is left out", "a: 1\n",
			"text|yaml", []any{"renderer_whitelist", []any{"yaml"}}, "{'a': 1}"},
		{"one of the black list as well", "a: 1\n",
			"jinja|yaml", []any{"renderer_blacklist", []any{"jinja"}}, "{'a': 1}"},
		{"line breaks of Windows stay in text", "a: {{ 1 }}\r\nb\r\n", "jinja", nil, `'a: 1\r\nb\r\n'`},
		{"TOML in order", "#!toml\nz = 1\n[b]\ny = 2.5\nx = [\"a\", true]\n[a]\nd = 2020-01-02\n", "", nil,
			"{'z': 1, 'b': {'y': 2.5, 'x': ['a', True]}, 'a': {'d': '2020-01-02'}}"},
		{"JSON", "#!json\n{\"b\": [1, 2.0, null], \"a\": \"\\u00e9\"}\n", "", nil,
			"{'b': [1, 2.0, None], 'a': 'é'}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := engine(t, nil, tt.opts...).Render(t.Context(),
				render.Input{Text: tt.text, Path: "/srv/a.sls", SaltEnv: "base", SLS: "a", Default: tt.pipe})
			if err != nil || data.Repr(got) != tt.want {
				t.Errorf("got %s, %v, want %s", data.Repr(got), err, tt.want)
			}
		})
	}
}

func TestRenderErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"Python", "#!py\ndef run(): pass\n",
			`The renderer "py" of SLS a (/srv/a.sls) runs Python, which is not available here: write the file for jinja|yaml`},
		{"Mako", "#!mako|yaml\n", `The renderer "mako" of SLS a (/srv/a.sls) is a template engine of Python, which is not available here: write the file for jinja`},
		{"an unknown one", "#!jnija|yaml\n",
			`The renderer "jnija" of SLS a (/srv/a.sls) is not available; there are gpg, jinja, json, nacl, pass, stateconf, text, toml, yaml, yamlex`},
		{"none between two bars", "#!jinja||yaml\n",
			`The pipe "jinja||yaml" of SLS a (/srv/a.sls) names no renderer between two bars: it needs one, such as jinja|yaml`},
		{"an unknown argument", "#!jinja -x|yaml\n", "Unknown renderer option: -x"},
		{"text behind data", "#!yaml|jinja\na: 1\n",
			"in the pipe of SLS a (/srv/a.sls), a renderer of text follows one that returns data"},
		{"a tab", "a:\n\t- b\n", "found character that cannot start any token"},
		{"values where none may be", "a: b: c\n", "mapping values are not allowed in this context"},
		{"a brace that stays open", "a: {b\n",
			"while parsing a flow mapping\n  in \"<unicode string>\", line 1, column 4\ndid not find expected ',' or '}'\n  in \"<unicode string>\", line 2, column 1"},
		{"a key twice", "a: 1\na: 2\n",
			"while constructing a mapping\n  in \"<unicode string>\", line 1, column 1\nfound conflicting ID 'a'\n  in \"<unicode string>\", line 2, column 1"},
		{"an alias of nothing", "a: *x\n",
			"found undefined alias\n  in \"<unicode string>\", line 1, column 4"},
		{"JSON", "#!json\n{\"a\" 1}\n", "Expecting ':' delimiter: line 1 column 6 (char 5)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := engine(t, nil).Render(t.Context(),
				render.Input{Text: tt.text, Path: "/srv/a.sls", SaltEnv: "base", SLS: "a"})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// TestSaltRenderErrors distinguishes errors that Salt reports as SaltRenderError from those that
// escape its renderers.
func TestSaltRenderErrors(t *testing.T) {
	for text, want := range map[string]bool{"a: b: c": true, "a: {b": true, "a: 1\na: 2": true,
		"a: *x": false, "{{ x }}": true} {
		_, err := engine(t, nil).Render(t.Context(), render.Input{Text: text})
		var e *render.Error
		if err == nil || errors.As(err, &e) != want {
			t.Errorf("%q: got %T %v, want a render.Error: %v", text, err, err, want)
		}
	}
}

func TestLookupFindsRenderersByName(t *testing.T) {
	e, err := render.New(render.Options{
		Env: &loader.Env{Opts: data.NewMap()},
		Lookup: func(name string) (render.Renderer, bool) {
			return shout{name}, name == "shout"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Render(t.Context(), render.Input{Text: "#!shout it|shout\nx"})
	if err != nil || got != "#!SHOUT IT|SHOUT\nX" {
		t.Errorf("got %q, %v", got, err)
	}
}

type shout struct{ name string }

func (s shout) Name() string { return s.name }

func (s shout) Render(_ context.Context, step *render.Step) (any, error) {
	text, err := step.Text()
	return strings.ToUpper(text), err
}

func TestTwoRenderersOfOneName(t *testing.T) {
	_, err := render.New(render.Options{Env: &loader.Env{},
		Renderers: []render.Renderer{shout{"a"}, shout{"a"}}})
	if err == nil {
		t.Error("no error")
	}
}

func TestExcerpt(t *testing.T) {
	text := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n"
	for _, tt := range []struct {
		line int
		want string
	}{
		{7, "---\n[...]\n2\n3\n4\n5\n6\n7    <======================\n8\n9\n10\n11\n12\n[...]\n---"},
		{1, "---\n1    <======================\n2\n3\n4\n5\n6\n[...]\n---"},
		{13, "---\n[...]\n8\n9\n10\n11\n12\n13    <======================\n---"},
		{14, text},
	} {
		if got := render.Excerpt(text, tt.line); got != tt.want {
			t.Errorf("line %d:\n%s\nwant\n%s", tt.line, got, tt.want)
		}
	}
}

func FuzzPipe(f *testing.F) {
	for _, s := range []string{"#!jinja|yaml\na", "#!/bin/sh", "#! jinja -s | yaml", "#!yaml_jinja",
		"#!|", "#!", "a", "#!stateconf -Go yaml . jinja"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		pipe, ok := render.Shebang(source, false)
		if !ok {
			return
		}
		for _, s := range render.ParsePipe(pipe) {
			if strings.ContainsAny(s.Name, "| \n") || strings.Contains(s.Argument, "|") ||
				s.Argument != strings.TrimSpace(s.Argument) {
				t.Errorf("%q: stage %+v", source, s)
			}
		}
	})
}
