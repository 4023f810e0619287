package etcd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/payload"
)

// A gateway is the JSON gateway of version 3.
type gateway struct {
	*config
	http   *rest.Client
	prefix string // of paths, which differs between versions of the server
	token  string // of the login; "" is none
}

// post sends a message and returns the reply.
func (g *gateway) post(ctx context.Context, path string, message map[string]any) (*data.Map, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, errors.New("write a request")
	}
	header := map[string]string{"Content-Type": "application/json"}
	if g.token != "" {
		header["Authorization"] = g.token
	}
	a, err := g.http.Do(ctx, rest.Request{Method: "POST", URL: g.address + g.prefix + path,
		Header: header, Body: body})
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return nil, err
	}
	v, err := a.JSON()
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errForm
	}
	return m, nil
}

// open finds the path of the gateway and logs in.
func (c *config) open(ctx context.Context, http *rest.Client) (*gateway, error) {
	g := &gateway{config: c, http: http, prefix: "/v3"}
	a, err := http.Do(ctx, rest.Request{URL: c.address + "/version"})
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return nil, err
	}
	v, _ := a.JSON()
	m, _ := v.(*data.Map)
	switch version := m.Text("etcdserver"); {
	case strings.HasPrefix(version, "3.2."):
		g.prefix = "/v3alpha"
	case strings.HasPrefix(version, "3.3."):
		g.prefix = "/v3beta"
	}
	if c.user == "" {
		return g, nil
	}
	login, err := g.post(ctx, "/auth/authenticate", map[string]any{"name": c.user, "password": c.password})
	if err != nil {
		return nil, fmt.Errorf("log in: %w", err)
	}
	g.token, _ = login.Value("token").(string)
	return g, nil
}

// tree3 returns the tree at a path by the API of version 3.
func (c *config) tree3(ctx context.Context, http *rest.Client, path string) (*data.Map, error) {
	g, err := c.open(ctx, http)
	if err != nil {
		return nil, err
	}
	kvs, err := g.below(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(kvs) == 0 {
		return nil, errNoKey
	}
	if len(kvs) == 1 && kvs[0].key == path {
		return data.NewMap(last(path), kvs[0].value), nil
	}
	tree := data.NewMap()
	for _, kv := range kvs {
		if err := set(tree, kv.key[len(path):], kv.value); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

type pair struct {
	key   string
	value any
}

// below returns the key of a path and the keys below it.
func (g *gateway) below(ctx context.Context, path string) ([]pair, error) {
	key := []byte(path)
	if g.packedKeys {
		var err error
		if key, err = payload.MarshalBin(path); err != nil {
			return nil, err
		}
	}
	m, err := g.post(ctx, "/kv/range", map[string]any{"key": key, "range_end": after(key)})
	if err != nil {
		return nil, err
	}
	list, ok := m.Value("kvs").([]any)
	if !ok && m.Value("kvs") != nil {
		return nil, errForm
	}
	var kvs []pair
	for _, v := range list {
		one, _ := v.(*data.Map)
		kv, err := g.decode(one)
		if err != nil {
			return nil, err
		}
		if kv.key == path || strings.HasPrefix(kv.key, strings.TrimSuffix(path, "/")+"/") {
			kvs = append(kvs, kv)
		}
	}
	return kvs, nil
}

// after returns the end of the range of keys that begin with key.
func after(key []byte) []byte {
	end := append([]byte{}, key...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return []byte{0}
}

func (g *gateway) decode(m *data.Map) (pair, error) {
	key, keyErr := base64.StdEncoding.DecodeString(m.Text("key"))
	value, valueErr := base64.StdEncoding.DecodeString(m.Text("value"))
	if m.Len() == 0 || keyErr != nil || valueErr != nil {
		return pair{}, errForm
	}
	kv := pair{key: string(key), value: value}
	if g.packedKeys {
		v, err := payload.UnmarshalText(key, payload.WireLimits())
		name, ok := v.(string)
		if err != nil || !ok {
			return pair{}, errors.New("a key is not MessagePack of a text (etcd.encode_keys)")
		}
		kv.key = name
	}
	switch {
	case g.packedValues:
		v, err := payload.UnmarshalText(value, payload.WireLimits())
		if err != nil {
			return pair{}, fmt.Errorf("the value of %s is not MessagePack (etcd.encode_values)", kv.key)
		}
		kv.value = v
	case !g.rawValues && utf8.Valid(value):
		kv.value = string(value)
	}
	return kv, nil
}

// set sets a value at a path of a tree. As in Salt, slashes that follow one another count as one,
// and a path without a name is the key "".
func set(tree *data.Map, path string, value any) error {
	for range maxDepth {
		outer, inner, more := strings.Cut(strings.TrimLeft(path, "/"), "/")
		if !more {
			tree.Set(outer, value)
			return nil
		}
		below, ok := tree.Get(outer)
		if !ok {
			below = data.NewMap()
			tree.Set(outer, below)
		}
		if tree, ok = below.(*data.Map); !ok {
			return errConflict
		}
		path = inner
	}
	return errForm
}
