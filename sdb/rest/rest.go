// Package rest is Salt's sdb driver rest: values of web services (salt/sdb/rest.py).
//
//	my-rest-api:
//	  driver: rest
//	  urls:
//	    url: https://api.github.com/
//	  keys:
//	    url: https://api.github.com/users/{{user}}/keys
//	github_keys: sdb://my-rest-api/keys?user=myuser
//
// url is a template, which is rendered with the pairs after the question mark. The other values are
// arguments of http.query. The result is the decoded answer. set sends the same request, as in Salt.
//
// Unlike in Salt an address without a question mark works, and an answer that is an error is one.
package rest

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the driver rest.
func Plugin() loader.Plugin { return loader.Plugin{Name: "rest", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get", m.get).SecretResult(loader.SecretAll),
		loader.F("set", m.set).Def("set_").Secret("value").SecretResult(loader.SecretAll),
	}}, nil
}

type getArgs struct {
	Key     string
	Profile *data.Map
}

// get returns the decoded answer of a web service.
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	name, query, _ := strings.Cut(a.Key, "?")
	entry, ok := a.Profile.Value(name).(*data.Map)
	if !ok || !entry.Has("url") {
		return nil, loader.Execution("sdb rest: the profile has no url under %s", name)
	}
	url, err := m.url(ctx, data.Str(entry.Value("url")), query)
	if err != nil {
		return nil, err
	}
	with := data.NewMap("decode", true)
	for k, v := range entry.All() {
		if k != "url" && k != "backend" {
			with.Set(k, v)
		}
	}
	answer, err := loader.CallAs[*data.Map](ctx, m.env, "http.query", []any{url}, with)
	if err != nil {
		return nil, err
	}
	if v, ok := answer.Get("dict"); ok {
		return v, nil
	}
	return nil, loader.Execution("sdb rest: %s: %s", name, data.Str(answer.Value("error")))
}

// ownWords are arguments of slsutil.renderer that a query cannot have: it would name another template.
var ownWords = []string{"path", "string", "default_renderer", "saltenv", "sls", "context"}

// url returns a URL that is a template, with the pairs of a query. A text without a template is
// returned as it is: a renderer needs the file server, which a minion does not have at its start.
func (m *module) url(ctx context.Context, text, query string) (string, error) {
	words := data.NewMap("string", text, "default_renderer", m.renderer())
	for pair := range strings.SplitSeq(query, "&") {
		if query == "" {
			break
		}
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return "", loader.Exception("ValueError", "not enough values to unpack (expected 2, got 1)")
		}
		if strings.HasPrefix(k, "__") || slices.Contains(ownWords, k) {
			return "", loader.Invocation("sdb rest: a query cannot have the name %s, which is an argument of the renderer", k)
		}
		words.Set(k, v)
	}
	if !strings.Contains(text, "{") && !strings.HasPrefix(text, "#!") {
		return text, nil
	}
	url, err := m.env.Call(ctx, "slsutil.renderer", nil, words)
	return data.Str(url), err
}

// renderer returns the option renderer.
func (m *module) renderer() string {
	if pipe := m.env.Opts.Text("renderer"); pipe != "" {
		return pipe
	}
	return "jinja|yaml"
}

type setArgs struct {
	Key     string
	Value   any
	Profile *data.Map
}

// set sends the request of get, without the value.
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	return m.get(ctx, getArgs{a.Key, a.Profile})
}
