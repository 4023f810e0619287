// Package consul is Salt's sdb driver consul: values in the key-value store of Consul
// (salt/sdb/consul.py).
//
//	myconsul:
//	  driver: consul
//	  host: 127.0.0.1        # the default
//	  port: 8500
//	  scheme: http           # or https
//	  token: TOKEN
//	  consistency: default   # or consistent, stale
//	  dc: dev                # data center
//	  verify: True           # False, or a file of certificates
//
// Unlike in Salt a value that is UTF-8 is a text, and not bytes.
package consul

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the driver consul.
func Plugin() loader.Plugin { return loader.Plugin{Name: "consul", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get", m.get).SecretResult(loader.SecretAll),
		loader.F("set", m.set).Def("set_").Secret("value"),
	}}, nil
}

type getArgs struct {
	Key     string
	Profile *data.Map `default:"None"`
}

// get returns a value.
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	if a.Profile.Len() == 0 {
		return false, nil
	}
	answer, err := m.query(ctx, a.Key, a.Profile, data.NewMap("decode", true, "decode_type", "json"))
	if err != nil || answer == nil {
		return nil, err
	}
	return decode(answer.Value("dict"))
}

// decode returns the value in an answer of Consul.
func decode(answer any) (any, error) {
	list, ok := answer.([]any)
	if !ok || len(list) == 0 {
		return nil, loader.Execution("sdb consul: the answer is not one of Consul")
	}
	entry, _ := list[0].(*data.Map)
	if entry.Value("Value") == nil {
		return nil, nil
	}
	raw, err := base64.StdEncoding.DecodeString(entry.Text("Value"))
	if err != nil {
		return nil, loader.Execution("sdb consul: the value in the answer is no base64")
	}
	if utf8.Valid(raw) {
		return string(raw), nil
	}
	return raw, nil
}

type setArgs struct {
	Key     string
	Value   any
	Profile *data.Map `default:"None"`
}

// set sets a value and returns whether Consul accepted it.
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	if a.Profile.Len() == 0 {
		return false, nil
	}
	switch a.Value.(type) {
	case string, []byte:
	default:
		return nil, loader.Exception("AssertionError", "value should be None or a string / binary data")
	}
	answer, err := m.query(ctx, a.Key, a.Profile, data.NewMap("method", "PUT", "data", a.Value))
	if err != nil {
		return nil, err
	}
	return strings.TrimSpace(answer.Text("body")) == "true", nil
}

// query sends a request; the result is nil if there is no such key.
func (m *module) query(ctx context.Context, key string, profile, words *data.Map) (*data.Map, error) {
	at, err := address(key, profile)
	if err != nil {
		return nil, err
	}
	if token := profile.Value("token"); token != nil {
		words.Set("header_dict", data.NewMap("X-Consul-Token", data.Str(token)))
	}
	switch verify := profile.Value("verify").(type) {
	case bool:
		words.Set("verify_ssl", verify)
	case string:
		words.Set("ca_bundle", verify)
	}
	answer, err := loader.CallAs[*data.Map](ctx, m.env, "http.query", []any{at}, words)
	if err != nil {
		return nil, err
	}
	bad := answer.Value("error")
	switch {
	case bad == nil:
		return answer, nil
	case answer.Value("status") == int64(404) && !words.Has("method"):
		return nil, nil
	}
	return nil, loader.Execution("sdb consul: %s", data.Str(bad))
}

// address returns the URL of a key.
func address(key string, profile *data.Map) (string, error) {
	text := func(name, usual string) string {
		if v := profile.Value(name); v != nil {
			return data.Str(v)
		}
		return usual
	}
	scheme := text("scheme", "http")
	if scheme != "http" && scheme != "https" {
		return "", loader.Execution("sdb consul: scheme: expected http or https")
	}
	if strings.HasPrefix(key, "/") {
		return "", loader.Exception("AssertionError", "keys should not start with a forward slash")
	}
	query := url.Values{}
	if dc := text("dc", ""); dc != "" {
		query.Set("dc", dc)
	}
	if how := text("consistency", "default"); how == "consistent" || how == "stale" {
		query.Set(how, "1")
	}
	parts := strings.Split(key, "/")
	for i, p := range parts {
		if p == "." || p == ".." {
			return "", loader.Execution("sdb consul: . or .. is a part of the key, which would lead out of the store")
		}
		parts[i] = url.PathEscape(p)
	}
	at := fmt.Sprintf("%s://%s:%s/v1/kv/%s", scheme, text("host", "127.0.0.1"), text("port", "8500"),
		strings.Join(parts, "/"))
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	return at, nil
}
