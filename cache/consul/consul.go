// Package consul keeps a cache in the key-value store of a Consul, with the keys of Salt
// (salt/cache/consul.py).
//
//	cache: consul
//	consul.host: 127.0.0.1            # port: 8500, token, scheme: http, consistency, dc, verify
//	consul.timestamp_suffix: .tstamp
//
// Difference: a key that ends like a time stamp is refused, since it would not be listed.
package consul

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/consul"
	"github.com/brineproject/brine/payload"
)

// limit is the timeout of a call.
const limit = 10 * time.Second

// A Cache is a cache in one Consul.
type Cache struct {
	kv     *consul.KV
	suffix string // of the keys of time stamps
	now    func() time.Time
}

var _ cache.Bank = (*Cache)(nil)

// Open returns the cache that the options describe. It does not connect.
func Open(opts *data.Map) (*Cache, error) {
	found := data.NewMap()
	for _, name := range []string{"host", "port", "token", "scheme", "consistency", "dc", "verify"} {
		if v, ok := opts.Get("consul." + name); ok && v != nil {
			found.Set(name, v)
		}
	}
	config, err := consul.Parse(found)
	if err != nil {
		return nil, err
	}
	config.Timeout = limit
	kv, err := consul.Open(config)
	if err != nil {
		return nil, err
	}
	c := &Cache{kv, ".tstamp", time.Now}
	if v := opts.Value("consul.timestamp_suffix"); data.Truth(v) {
		c.suffix = data.Str(v)
	}
	return c, nil
}

// Close closes the connections.
func (c *Cache) Close() error {
	c.kv.Close()
	return nil
}

// check returns an error for names that are not for this cache.
func (c *Cache) check(bank, key string, whole bool) error {
	if err := cache.CheckName(bank, key, whole); err != nil {
		return err
	}
	if strings.HasSuffix(key, c.suffix) && key != "" {
		return fmt.Errorf("cache: the key %q ends like a time stamp", key)
	}
	return nil
}

func wrap(what, bank, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cache in Consul: %s %s/%s: %w", what, bank, key, err)
}

func (c *Cache) get(what, bank, key, suffix string) ([]byte, error) {
	if err := c.check(bank, key, false); err != nil {
		return nil, err
	}
	b, found, err := c.kv.Get(context.Background(), bank+"/"+key+suffix)
	if err == nil && !found {
		err = cache.ErrNotFound
	}
	return b, wrap(what, bank, key, err)
}

// Fetch implements cache.Bank.
func (c *Cache) Fetch(bank, key string) ([]byte, error) { return c.get("fetch", bank, key, "") }

// Store implements cache.Bank.
func (c *Cache) Store(bank, key string, value []byte) error {
	if err := c.check(bank, key, false); err != nil {
		return err
	}
	stamp, err := payload.MarshalBin(c.now().Unix())
	if err != nil {
		return err
	}
	ctx, at := context.Background(), bank+"/"+key
	if err = c.kv.Put(ctx, at, value); err == nil {
		err = c.kv.Put(ctx, at+c.suffix, stamp)
	}
	return wrap("store", bank, key, err)
}

// Flush implements cache.Bank.
func (c *Cache) Flush(bank, key string) error {
	if err := c.check(bank, key, true); err != nil {
		return err
	}
	ctx := context.Background()
	if key == "" {
		// with the slash, so that minions does not take minions2 with it
		return wrap("flush", bank, key, c.kv.Delete(ctx, bank+"/", true))
	}
	return wrap("flush", bank, key, errors.Join(c.kv.Delete(ctx, bank+"/"+key+c.suffix, false),
		c.kv.Delete(ctx, bank+"/"+key, false)))
}

// List implements cache.Bank.
func (c *Cache) List(bank string) ([]string, error) {
	if err := c.check(bank, "", true); err != nil {
		return nil, err
	}
	keys, err := c.kv.Keys(context.Background(), bank+"/", "/")
	var names []string
	for _, k := range keys {
		name := strings.TrimSuffix(strings.TrimPrefix(k, bank+"/"), "/")
		if name != "" && !strings.HasSuffix(name, c.suffix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), wrap("list", bank, "", err)
}

// Updated implements cache.Bank.
func (c *Cache) Updated(bank, key string) (time.Time, error) {
	b, err := c.get("read the time of", bank, key, c.suffix)
	if err != nil {
		return time.Time{}, err
	}
	v, err := payload.UnmarshalText(b, payload.WireLimits())
	seconds, ok := v.(int64)
	if err == nil && !ok {
		err = errors.New("it is not a number")
	}
	return time.Unix(seconds, 0), wrap("read the time of", bank, key, err)
}
