package etcd

import (
	"context"
	"net/url"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
)

// tree2 returns the tree at a path by the API of version 2.
func (c *config) tree2(ctx context.Context, http *rest.Client, path string) (*data.Map, error) {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	a, err := http.Do(ctx, rest.Request{URL: c.address + "/v2/keys" + escape(path) + "?recursive=true",
		User: c.user, Password: c.password})
	if err != nil {
		return nil, err
	}
	if a.Status == 404 {
		return nil, errNoKey
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	v, err := a.JSON()
	if err != nil {
		return nil, err
	}
	m, _ := v.(*data.Map)
	node, ok := m.Value("node").(*data.Map)
	if !ok {
		return nil, errForm
	}
	key, _ := node.Value("key").(string)
	if data.Truth(node.Value("dir")) {
		children, err := children(node, 0)
		if err == nil && children.Len() == 0 && key != path && key != "" {
			return data.NewMap(last(key), children), nil // as in Salt, for a path that ends in a slash
		}
		return children, err
	}
	return data.NewMap(last(key), node.Value("value")), nil
}

// maxDepth limits the depth of a tree.
const maxDepth = 200

// children returns the entries of a directory.
func children(dir *data.Map, depth int) (*data.Map, error) {
	list, ok := dir.Value("nodes").([]any)
	if !ok && dir.Value("nodes") != nil || depth > maxDepth {
		return nil, errForm
	}
	all := data.NewMap()
	for _, v := range list {
		node, ok := v.(*data.Map)
		key, isText := node.Value("key").(string)
		if !ok || !isText {
			return nil, errForm
		}
		value := node.Value("value")
		if data.Truth(node.Value("dir")) {
			below, err := children(node, depth+1)
			if err != nil {
				return nil, err
			}
			value = below
		}
		all.Set(last(key), value)
	}
	return all, nil
}

func last(key string) string { return key[strings.LastIndex(key, "/")+1:] }

func escape(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
