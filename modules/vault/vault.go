// Package vault is Salt's module vault: secrets of a HashiCorp Vault (salt/modules/vault.py).
//
// The token comes from the master, whose option peer_run must allow vault.generate_token, or without
// a master from the option vault of the minion. Paths of both versions of the key-value store are as
// users write them, without data and metadata.
//
// Error texts of requests are those of Python's requests, such as "404 Client Error: Not Found for
// url: URL". Results are secrets, and events hide them.
package vault

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/vault"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module vault.
func Plugin() loader.Plugin { return loader.Plugin{Name: "vault", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("clear_token_cache", m.clearTokenCache),
		loader.F("delete_secret", m.deleteSecret),
		loader.F("destroy_secret", m.destroySecret),
		loader.F("list_secrets", m.listSecrets),
		loader.F("read_secret", m.readSecret).SecretResult(loader.SecretAll),
		loader.F("write_raw", m.writeRaw).Secret("raw"),
		loader.F("write_secret", m.writeSecret),
	}}, nil
}

// notSet is the default of parameters that may be None.
const notSet = "<Constant.NOT_SET>"

type readArgs struct {
	Path     string
	Key      any  `default:"None"`
	Metadata bool `default:"False"`
	Default  any  `default:"'<Constant.NOT_SET>'"`
}

// readSecret returns the secret at a path, or the value of one of its keys. A missing secret or key
// is an error, unless there is a default.
//
// metadata : False
//
//	With version 2 of the key-value store, return the metadata too: data, and below it data and
//	metadata.
//
// default
//
//	The result if the secret cannot be read.
//
// CLI Example:
//
//	salt '*' vault.read_secret secret/my/secret
//	salt '*' vault.read_secret secret/my/secret some-key default=none
func (m *module) readSecret(ctx context.Context, a readArgs) (any, error) {
	v, err := m.read(ctx, a)
	if err != nil && a.Default == notSet {
		return nil, loader.Execution("Failed to read secret! %s", said(err))
	}
	if err != nil {
		return a.Default, nil
	}
	return v, nil
}

func (m *module) read(ctx context.Context, a readArgs) (any, error) {
	s := vault.Of(ctx, m.env)
	kv := s.KV(ctx, a.Path)
	v, err := ask(ctx, s, "GET", kv.Data, nil)
	if err != nil {
		return nil, err
	}
	if a.Key == nil && (!kv.V2 || a.Metadata) {
		return v, nil
	}
	if kv.V2 {
		if v, err = item(v, "data"); err != nil {
			return nil, err
		}
	}
	if a.Key == nil {
		return v, nil
	}
	return item(v, a.Key)
}

// ask returns the value data of an answer with status 200.
func ask(ctx context.Context, s *vault.Session, method, path string, payload any) (any, error) {
	a, err := s.Request(ctx, method, path, payload)
	if err != nil {
		return nil, err
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	return a.Data()
}

// item returns the value of a key, or Python's error.
func item(of, key any) (any, error) {
	m, ok := of.(*data.Map)
	if !ok {
		return nil, loader.TypeError("%s object is not subscriptable", data.Repr(loader.TypeName(of)))
	}
	v, ok := m.Get(key)
	if !ok {
		return nil, loader.Exception("KeyError", "%s", data.Repr(key))
	}
	return v, nil
}

// said returns an error with the name of its class, as Salt formats it.
func said(err error) string {
	class := "CommandExecutionError"
	if e, ok := errors.AsType[*loader.Error](err); ok && e.Class != "" {
		class = e.Class[strings.LastIndex(e.Class, ".")+1:]
	}
	return class + ": " + err.Error()
}

type writeArgs struct {
	Path   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// writeSecret sets the secret at a path to the keyword arguments, and returns True, or what Vault
// answered. It returns False if it fails, and logs why.
//
// CLI Example:
//
//	salt '*' vault.write_secret secret/my/secret user=foo password=bar
func (m *module) writeSecret(ctx context.Context, a writeArgs) (any, error) {
	values := data.NewMap()
	for k, v := range a.Kwargs.All() {
		if !strings.HasPrefix(data.Str(k), "__") {
			values.Set(k, v)
		}
	}
	return m.write(ctx, a.Path, values)
}

type rawArgs struct {
	Path string
	Raw  any
}

// writeRaw sets the secret at a path to a dictionary, and returns True, or what Vault answered. It
// returns False if it fails, and logs why.
//
// CLI Example:
//
//	salt '*' vault.write_raw secret/my/secret '{"user": "foo", "password": "bar"}'
func (m *module) writeRaw(ctx context.Context, a rawArgs) (any, error) {
	return m.write(ctx, a.Path, a.Raw)
}

func (m *module) write(ctx context.Context, path string, values any) (any, error) {
	s := vault.Of(ctx, m.env)
	kv := s.KV(ctx, path)
	if kv.V2 {
		values = data.NewMap("data", values)
	}
	answer, err := s.Request(ctx, "POST", kv.Data, values)
	if err == nil && answer.Status == 200 {
		var v any
		if v, err = answer.Data(); err == nil {
			return v, nil
		}
	}
	if err == nil {
		err = answer.Err()
	}
	return m.done("write", err), nil
}

// done returns the result of a change, and logs its error.
func (m *module) done(what string, err error) bool {
	if err != nil {
		m.env.Log.Errorf("Failed to %s secret! %s", what, said(err))
	}
	return err == nil
}

type pathArgs struct{ Path string }

// deleteSecret deletes the secret at a path; with version 2 of the key-value store its last version.
// It returns False if it fails, and logs why.
//
// CLI Example:
//
//	salt '*' vault.delete_secret secret/my/secret
func (m *module) deleteSecret(ctx context.Context, a pathArgs) (any, error) {
	s := vault.Of(ctx, m.env)
	return m.done("delete", act(ctx, s, "DELETE", s.KV(ctx, a.Path).Data, nil)), nil
}

// act sends a request whose answer does not count.
func act(ctx context.Context, s *vault.Session, method, path string, payload any) error {
	a, err := s.Request(ctx, method, path, payload)
	if err != nil {
		return err
	}
	return a.Err()
}

type destroyArgs struct {
	Path string
	Args []any `args:"args"`
}

// destroySecret destroys versions of the secret at a path, which only version 2 of the key-value store
// has. It returns False if it fails, and logs why.
//
// CLI Example:
//
//	salt '*' vault.destroy_secret secret/my/secret 1 2
func (m *module) destroySecret(ctx context.Context, a destroyArgs) (any, error) {
	s := vault.Of(ctx, m.env)
	kv := s.KV(ctx, a.Path)
	if !kv.V2 {
		m.env.Log.Error("Destroy operation is only supported on KV version 2")
		return false, nil
	}
	versions := append([]any{}, a.Args...)
	return m.done("delete", act(ctx, s, "POST", kv.Destroy, data.NewMap("versions", versions))), nil
}

type listArgs struct {
	Path    string
	Default any `default:"'<Constant.NOT_SET>'"`
}

// listSecrets returns the names below a path, which should end with a slash, under the key keys. A
// path without any is an error, unless there is a default.
//
// CLI Example:
//
//	salt '*' vault.list_secrets secret/my/
func (m *module) listSecrets(ctx context.Context, a listArgs) (any, error) {
	s := vault.Of(ctx, m.env)
	v, err := ask(ctx, s, "LIST", s.KV(ctx, a.Path).Metadata, nil)
	if err != nil && a.Default == notSet {
		return nil, loader.Execution("Failed to list secrets! %s", said(err))
	}
	if err != nil {
		return a.Default, nil
	}
	return v, nil
}

// clearTokenCache deletes the file with the token of this minion, and reports whether there was one.
//
// CLI Example:
//
//	salt '*' vault.clear_token_cache
func (m *module) clearTokenCache(context.Context, loader.NoArgs) (any, error) {
	found, err := vault.ClearCache(m.env)
	if err == nil && !found {
		m.env.Log.Info("Attempted to delete vault cache file, but it does not exist.")
	}
	return found, err
}
