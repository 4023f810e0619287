// Package tism is Salt's sdb driver tism: it decrypts values on a server of tISM, the immutable
// secrets manager (salt/sdb/tism.py).
//
//	tism:
//	  driver: tism
//	  url: https://my.tismd:8080/decrypt
//	  token: TOKEN
//
// The key of an address is the encrypted value.
package tism

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the driver tism.
func Plugin() loader.Plugin { return loader.Plugin{Name: "tism", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get", m.get).SecretResult(loader.SecretAll),
	}}, nil
}

type getArgs struct {
	Key     string
	Profile *data.Map
}

// get returns the decrypted value. As in Salt a failed request gives ERROR and its status.
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	if !data.Truth(a.Profile.Value("url")) || !data.Truth(a.Profile.Value("token")) {
		return nil, loader.Exception("salt.exceptions.SaltConfigurationError",
			"url and/or token missing from the tism sdb profile")
	}
	body, err := pyjson.Append(nil, data.NewMap("token", a.Profile.Value("token"), "encsecret", a.Key),
		pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		return nil, loader.Execution("sdb tism: the request has no form in JSON")
	}
	answer, err := loader.CallAs[*data.Map](ctx, m.env, "http.query",
		[]any{a.Profile.Text("url")}, data.NewMap("method", "POST", "data", string(body)))
	if err != nil {
		return nil, err
	}
	if v := answer.Value("body"); data.Truth(v) {
		return v, nil
	}
	known := func(key string) string {
		if v := answer.Value(key); v != nil {
			return data.Str(v)
		}
		return "unknown"
	}
	m.env.Log.Warnf("tism.get sdb decryption request failed with error %s", known("error"))
	return "ERROR" + known("status"), nil
}
