// Package vault is Salt's sdb driver vault: values in a HashiCorp Vault (salt/sdb/vault.py).
//
//	myvault:
//	  driver: vault
//	password: sdb://myvault/secret/passwords/mypassword
//
// The part after the last slash, or after a question mark, is the key within the secret. The option
// vault has the connection, as for the execution module vault.
package vault

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/vault"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the driver vault.
func Plugin() loader.Plugin { return loader.Plugin{Name: "vault", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get", m.get).SecretResult(loader.SecretAll),
		loader.F("set", m.set).Def("set_").Secret("value"),
	}}, nil
}

// split returns the path of a secret, and the key within it.
func split(key string) (path, name string, err error) {
	if strings.Contains(key, "?") {
		path, name, _ = strings.Cut(key, "?")
		if strings.Contains(name, "?") {
			return "", "", loader.Exception("ValueError", "too many values to unpack (expected 2)")
		}
		return path, name, nil
	}
	at := strings.LastIndex(key, "/")
	if at < 0 {
		return "", "", loader.Exception("ValueError", "not enough values to unpack (expected 2, got 1)")
	}
	return key[:at], key[at+1:], nil
}

type getArgs struct {
	Key     string
	Profile *data.Map `default:"None"`
}

// get returns a value; None if there is no such secret or key. With version 2 of the key-value store
// an unknown key stands for the whole secret, and a path that is no secret for the secret below it of
// that name, as in Salt.
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	path, name, err := split(a.Key)
	if err != nil {
		return nil, err
	}
	s := vault.Of(ctx, m.env)
	kv := s.KV(ctx, path)
	answer, err := s.Request(ctx, "GET", kv.Data, nil)
	if err == nil && answer.Status == 404 && kv.V2 {
		answer, err = s.Request(ctx, "GET", kv.Data+"/"+name, nil)
	}
	if err != nil {
		return nil, m.failed("read", err)
	}
	if answer.Status == 404 {
		return nil, nil
	}
	if err := answer.Err(); err != nil {
		return nil, m.failed("read", err)
	}
	v, err := answer.Data()
	if err != nil {
		return nil, m.failed("read", err)
	}
	secret, _ := v.(*data.Map)
	if kv.V2 {
		secret, _ = secret.Value("data").(*data.Map)
	}
	if v, ok := secret.Get(name); ok || !kv.V2 {
		return v, nil
	}
	return secret, nil
}

type setArgs struct {
	Key     string
	Value   any
	Profile *data.Map `default:"None"`
}

// set sets the secret at the path to this one key, and returns True.
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	path, name, err := split(a.Key)
	if err != nil {
		return nil, err
	}
	s := vault.Of(ctx, m.env)
	kv := s.KV(ctx, path)
	payload := data.NewMap(name, a.Value)
	if kv.V2 {
		payload = data.NewMap("data", payload)
	}
	answer, err := s.Request(ctx, "POST", kv.Data, payload)
	if err == nil {
		err = answer.Err()
	}
	if err != nil {
		return nil, m.failed("write", err)
	}
	return true, nil
}

// failed logs an error and returns it as Salt does.
func (m *module) failed(what string, err error) error {
	m.env.Log.Errorf("Failed to %s secret! %v", what, err)
	return loader.Execution("%w", err)
}
