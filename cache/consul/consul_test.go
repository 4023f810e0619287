package consul

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/cachetest"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
)

// open returns a cache in a small store with the requests and answers of Consul's API, and its keys.
func open(t *testing.T) (*Cache, map[string]string) {
	t.Helper()
	var mu sync.Mutex
	keys := map[string]string{}
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		mu.Lock()
		defer mu.Unlock()
		key, err := url.PathUnescape(strings.TrimPrefix(r.Path, "/v1/kv/"))
		q, _ := url.ParseQuery(r.Query)
		if err != nil || r.Header.Get("X-Consul-Token") != "t" {
			return &fakeweb.Answer{Status: 403}
		}
		switch {
		case r.Method == "PUT":
			keys[key] = r.Body
			return &fakeweb.Answer{Body: "true"}
		case r.Method == "DELETE":
			maps.DeleteFunc(keys, func(k, _ string) bool { return k == key || q.Has("recurse") && strings.HasPrefix(k, key) })
			return &fakeweb.Answer{Body: "true"}
		}
		var found []any
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			switch {
			case q.Has("keys") && strings.HasPrefix(k, key):
				head, _, more := strings.Cut(k[len(key):], q.Get("separator"))
				if more {
					head += q.Get("separator")
				}
				found = append(found, key+head)
			case !q.Has("keys") && k == key:
				value := any(base64.StdEncoding.EncodeToString([]byte(keys[k])))
				if keys[k] == "" {
					value = nil
				}
				found = append(found, map[string]any{"Key": k, "Value": value})
			}
		}
		if found == nil {
			return &fakeweb.Answer{Status: 404}
		}
		b, _ := json.Marshal(found)
		return &fakeweb.Answer{Kind: "application/json", Body: string(b)}
	})
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(data.NewMap("consul.host", u.Hostname(), "consul.port", u.Port(), "consul.token", "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, keys
}

func TestCache(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Bank { c, _ := open(t); return c })
}

// TestKeysAreSalts checks the keys that Salt 3006.18 uses, and that a flush leaves banks with a longer
// name.
func TestKeysAreSalts(t *testing.T) {
	c, keys := open(t)
	for _, bank := range []string{"minions/web1", "minions2/a"} {
		if err := c.Store(bank, "data", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush("minions", ""); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(keys)); !slices.Equal(got, []string{"minions2/a/data", "minions2/a/data.tstamp"}) {
		t.Errorf("keys %q", got)
	}
	if err := c.Store("a", "b.tstamp", nil); err == nil {
		t.Error("a key like a time stamp was stored")
	}
	if _, err := Open(data.NewMap("consul.port", "x")); err == nil || !strings.HasPrefix(err.Error(), "consul.port: ") {
		t.Error(err)
	}
}
