// Package etcd is Salt's sdb driver etcd: values in etcd (salt/sdb/etcd_db.py, salt/utils/etcd_util.py).
//
//	myetcd:
//	  driver: etcd
//	  etcd.host: 127.0.0.1
//	  etcd.port: 2379
//	  etcd.require_v2: False    # True, the default, is the API of version 2
//	  etcd.username: ann
//	  etcd.password: pass
//	  etcd.ca: /path/ca.pem     # https; also etcd.client_cert and etcd.client_key
//	  etcd.encode_values: True  # version 3: values are MessagePack, as Salt writes them
//	  etcd.encode_keys: False
//
// Both versions are used over HTTP; version 3 by the JSON gateway of etcd.
package etcd

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// Plugin returns the driver etcd.
func Plugin() loader.Plugin { return loader.Plugin{Name: "etcd", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("delete", m.delete),
		loader.F("get", m.get).SecretResult(loader.SecretAll),
		loader.F("set", m.set).Def("set_").Secret("value").SecretResult(loader.SecretAll),
	}}, nil
}

// A server is an etcd of one version.
type server interface {
	get(ctx context.Context, key string) (any, error)
	set(ctx context.Context, key string, value any) error
	delete(ctx context.Context, key string) error
}

// server returns the server of a profile.
func (m *module) server(profile *data.Map) server {
	c := conn{m.env, profile}
	if v, ok := profile.Get("etcd.require_v2"); ok && !data.Truth(v) {
		return version3{c}
	}
	return version2{c}
}

type getArgs struct {
	Key     string
	Profile *data.Map
}

// get returns a value.
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	return m.server(a.Profile).get(ctx, a.Key)
}

type setArgs struct {
	Key     string
	Value   any
	Profile *data.Map
}

// set sets a value and returns it.
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	s := m.server(a.Profile)
	if err := s.set(ctx, a.Key, a.Value); err != nil {
		return nil, err
	}
	return s.get(ctx, a.Key)
}

// delete removes a value, and returns True also if there is none.
func (m *module) delete(ctx context.Context, a getArgs) (any, error) {
	if err := m.server(a.Profile).delete(ctx, a.Key); err != nil {
		m.env.Log.WithError(err).Errorf("sdb etcd: delete %s", a.Key)
		return false, nil
	}
	return true, nil
}

// A conn sends requests to the etcd of a profile.
type conn struct {
	env     *loader.Env
	profile *data.Map
}

func (c conn) text(name, usual string) string {
	if v := c.profile.Value("etcd." + name); data.Truth(v) {
		return data.Str(v)
	}
	return usual
}

// truth returns a switch of the profile.
func (c conn) truth(name string, usual bool) bool {
	if v, ok := c.profile.Get("etcd." + name); ok {
		return data.Truth(v)
	}
	return usual
}

// base returns the URL of the server without a path.
func (c conn) base() string {
	scheme := "http"
	if c.text("ca", "") != "" {
		scheme = "https"
	}
	return scheme + "://" + c.text("host", "127.0.0.1") + ":" + c.text("port", "2379")
}

// query sends a request and returns the decoded answer, and its status if it is an error.
func (c conn) query(ctx context.Context, path string, words *data.Map) (answer *data.Map, status int64, err error) {
	words.Update(data.NewMap("decode", true, "decode_type", "json"))
	if ca := c.text("ca", ""); ca != "" {
		words.Set("ca_bundle", ca)
		if cert, key := c.text("client_cert", ""), c.text("client_key", ""); cert != "" && key != "" {
			words.Set("cert", []any{cert, key})
		}
	}
	got, err := loader.CallAs[*data.Map](ctx, c.env, "http.query", []any{c.base() + path}, words)
	if err != nil {
		return nil, 0, err
	}
	if bad := got.Value("error"); bad != nil {
		status, _ := got.Value("status").(int64)
		return nil, status, loader.Execution("sdb etcd: %s", data.Str(bad))
	}
	answer, ok := got.Value("dict").(*data.Map)
	if !ok {
		return nil, 0, loader.Execution("sdb etcd: the answer is not one of etcd")
	}
	return answer, 0, nil
}

// A version2 is an etcd with the API of version 2.
type version2 struct{ conn }

// ask sends a request about a key.
func (c version2) ask(ctx context.Context, key string, words *data.Map) (*data.Map, int64, error) {
	if name, word := c.text("username", ""), c.text("password", ""); name != "" && word != "" {
		words.Update(data.NewMap("username", name, "password", word))
	}
	parts := strings.Split(strings.TrimPrefix(key, "/"), "/")
	for i, p := range parts {
		if p == "." || p == ".." {
			return nil, 0, loader.Execution(
				"sdb etcd: . or .. is a part of the key, which would lead out of the store")
		}
		parts[i] = url.PathEscape(p)
	}
	return c.query(ctx, "/v2/keys/"+strings.Join(parts, "/"), words)
}

func (c version2) get(ctx context.Context, key string) (any, error) {
	answer, status, err := c.ask(ctx, key, data.NewMap())
	if status == 404 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	node, _ := answer.Value("node").(*data.Map)
	return node.Value("value"), nil
}

func (c version2) set(ctx context.Context, key string, value any) error {
	_, _, err := c.ask(ctx, key, data.NewMap("method", "PUT",
		"header_dict", data.NewMap("Content-Type", "application/x-www-form-urlencoded"),
		"data", url.Values{"value": {data.Str(value)}}.Encode()))
	return err
}

func (c version2) delete(ctx context.Context, key string) error {
	_, status, err := c.ask(ctx, key, data.NewMap("method", "DELETE"))
	if status == 404 {
		return nil
	}
	return err
}

// A version3 is an etcd with the API of version 3.
type version3 struct{ conn }

// ask sends a request with a body, after a login if the profile has a user.
func (c version3) ask(ctx context.Context, path string, body *data.Map) (*data.Map, error) {
	header := data.NewMap("Content-Type", "application/json")
	if name, word := c.text("username", ""), c.text("password", ""); name != "" && word != "" {
		answer, err := c.post(ctx, "/v3/auth/authenticate", data.NewMap("name", name, "password", word),
			header)
		if err != nil {
			return nil, err
		}
		header = header.Clone()
		header.Set("Authorization", answer.Text("token"))
	}
	return c.post(ctx, path, body, header)
}

func (c version3) post(ctx context.Context, path string, body, header *data.Map) (*data.Map, error) {
	text, err := pyjson.Append(nil, body, pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		return nil, loader.Execution("sdb etcd: the request has no form in JSON")
	}
	answer, _, err := c.query(ctx, path, data.NewMap("method", "POST", "data", string(text),
		"header_dict", header))
	return answer, err
}

// pack returns a key or a value in the form of the profile.
func pack(v any, encoded bool) (string, error) {
	raw, isBytes := v.([]byte)
	if !isBytes {
		raw = []byte(data.Str(v))
	}
	if encoded {
		var err error
		if raw, err = payload.MarshalBin(v); err != nil {
			return "", loader.Execution("sdb etcd: the value has no form in MessagePack")
		}
	}
	return base64.StdEncoding.EncodeToString(raw), nil
}

func (c version3) key(key string) (*data.Map, error) {
	text, err := pack(key, c.truth("encode_keys", false))
	return data.NewMap("key", text), err
}

func (c version3) get(ctx context.Context, key string) (any, error) {
	body, err := c.key(key)
	if err != nil {
		return nil, err
	}
	answer, err := c.ask(ctx, "/v3/kv/range", body)
	if err != nil {
		return nil, err
	}
	return found(answer, c.truth("encode_values", true), c.truth("raw_values", false))
}

// found returns the value in an answer to range.
func found(answer *data.Map, encoded, raw bool) (any, error) {
	list, _ := answer.Value("kvs").([]any)
	if len(list) == 0 {
		return nil, nil
	}
	kv, _ := list[len(list)-1].(*data.Map)
	value, err := base64.StdEncoding.DecodeString(kv.Text("value"))
	if err != nil {
		return nil, loader.Execution("sdb etcd: the value in the answer is no base64")
	}
	if encoded {
		v, err := payload.UnmarshalText(value, payload.WireLimits())
		if err != nil {
			return nil, loader.Execution("sdb etcd: the value is not in MessagePack; with etcd.encode_values: False it is plain text")
		}
		return v, nil
	}
	if raw || !utf8.Valid(value) {
		return value, nil
	}
	return string(value), nil
}

func (c version3) set(ctx context.Context, key string, value any) error {
	body, err := c.key(key)
	if err != nil {
		return err
	}
	text, err := pack(value, c.truth("encode_values", true))
	if err != nil {
		return err
	}
	body.Set("value", text)
	_, err = c.ask(ctx, "/v3/kv/put", body)
	return err
}

func (c version3) delete(ctx context.Context, key string) error {
	body, err := c.key(key)
	if err != nil {
		return err
	}
	_, err = c.ask(ctx, "/v3/kv/deleterange", body)
	return err
}
