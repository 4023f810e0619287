// Package redis keeps a cache in a Redis, with the keys of Salt (salt/cache/redis_cache.py).
//
//	cache: redis
//	cache.redis.host: localhost    # port: 6379, db: '0', password, unix_socket_path
//	cache.redis.bank_prefix: $BANK # bank_keys_prefix, key_prefix, timestamp_prefix, separator
//
// Difference: the set of a bank also has the names of the banks below it, which Salt does not list.
// A cluster is not supported.
package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// limit is the timeout of a call.
const limit = 10 * time.Second

// A Cache is a cache in one database of a Redis.
type Cache struct {
	db                          *redis.Client
	bank, keys, key, stamp, sep string // prefixes of keys
	now                         func() time.Time
}

var _ cache.Bank = (*Cache)(nil)

// Open returns the cache that the options describe. It does not connect.
func Open(opts *data.Map) (*Cache, error) {
	text := func(name, usual string) string {
		if v := opts.Value("cache.redis." + name); data.Truth(v) {
			return data.Str(v)
		}
		return usual
	}
	if data.Truth(opts.Value("cache.redis.cluster_mode")) {
		return nil, errors.New("cache.redis.cluster_mode: a cluster is not supported")
	}
	number := func(name string, usual, most int64) (int64, error) {
		v := opts.Value("cache.redis." + name)
		if v == nil {
			return usual, nil
		}
		n, err := loader.Int(v)
		if err != nil || n < 0 || n > most {
			return 0, fmt.Errorf("cache.redis.%s: expected a number", name)
		}
		return n, nil
	}
	port, err := number("port", 6379, 65535)
	if err != nil {
		return nil, err
	}
	db, err := number("db", 0, 1<<20)
	if err != nil {
		return nil, err
	}
	o := &redis.Options{Network: "tcp", DB: int(db), Password: text("password", ""), Protocol: 2,
		Addr:        net.JoinHostPort(text("host", "localhost"), strconv.FormatInt(port, 10)),
		DialTimeout: limit, ReadTimeout: limit, WriteTimeout: limit, ContextTimeoutEnabled: true}
	if path := text("unix_socket_path", ""); path != "" {
		o.Network, o.Addr = "unix", path
	}
	return &Cache{db: redis.NewClient(o), bank: text("bank_prefix", "$BANK"),
		keys: text("bank_keys_prefix", "$BANKEYS"), key: text("key_prefix", "$KEY"),
		stamp: text("timestamp_prefix", "$TSTAMP"), sep: text("separator", "_"), now: time.Now}, nil
}

// Close closes the connections.
func (c *Cache) Close() error { return c.db.Close() }

func (c *Cache) bankKey(bank string) string     { return c.bank + c.sep + bank }
func (c *Cache) keysKey(bank string) string     { return c.keys + c.sep + bank }
func (c *Cache) valueKey(bank, k string) string { return c.key + c.sep + bank + "/" + k }

// stampKey has both names in the form in which Python prints a set of one text, as in Salt.
func (c *Cache) stampKey(bank, k string) string {
	return c.stamp + c.sep + "{" + data.Repr(bank) + "}/{" + data.Repr(k) + "}"
}

// Fetch implements cache.Bank.
func (c *Cache) Fetch(bank, key string) ([]byte, error) {
	if err := cache.CheckName(bank, key, false); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	b, err := c.db.Get(ctx, c.valueKey(bank, key)).Bytes()
	return b, wrap("fetch", bank, key, err)
}

// wrap returns the error of a call, or nil.
func wrap(what, bank, key string, err error) error {
	if errors.Is(err, redis.Nil) {
		err = cache.ErrNotFound
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("cache in Redis: %s %s/%s: %w", what, bank, key, err)
}

// Store implements cache.Bank.
func (c *Cache) Store(bank, key string, value []byte) error {
	if err := cache.CheckName(bank, key, false); err != nil {
		return err
	}
	stamp, err := payload.MarshalBin(c.now().Unix())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err = c.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		parts := strings.Split(bank, "/")
		for i := range parts {
			at := c.bankKey(strings.Join(parts[:i+1], "/"))
			p.SAdd(ctx, at, ".")
			if i+1 < len(parts) {
				p.SAdd(ctx, at, parts[i+1])
			}
		}
		p.Set(ctx, c.valueKey(bank, key), value, 0)
		p.SAdd(ctx, c.keysKey(bank), key)
		p.Set(ctx, c.stampKey(bank, key), stamp, 0)
		return nil
	})
	return wrap("store", bank, key, err)
}

// Flush implements cache.Bank.
func (c *Cache) Flush(bank, key string) error {
	if err := cache.CheckName(bank, key, true); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if key == "" {
		return wrap("flush", bank, key, c.flushBank(ctx, bank))
	}
	_, err := c.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, c.valueKey(bank, key), c.stampKey(bank, key))
		p.SRem(ctx, c.keysKey(bank), key)
		return nil
	})
	return wrap("flush", bank, key, err)
}

// flushBank removes a bank, its keys and the banks below it.
func (c *Cache) flushBank(ctx context.Context, bank string) error {
	banks, err := c.db.SMembers(ctx, c.bankKey(bank)).Result()
	if err != nil {
		return err
	}
	for _, name := range banks {
		if name == "." || strings.Contains(name, "/") {
			continue
		}
		if err := c.flushBank(ctx, bank+"/"+name); err != nil {
			return err
		}
	}
	keys, err := c.db.SMembers(ctx, c.keysKey(bank)).Result()
	if err != nil {
		return err
	}
	gone := []string{c.keysKey(bank), c.bankKey(bank)}
	for _, k := range keys {
		gone = append(gone, c.valueKey(bank, k), c.stampKey(bank, k))
	}
	_, err = c.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, gone...)
		if cut := strings.LastIndex(bank, "/"); cut >= 0 {
			p.SRem(ctx, c.bankKey(bank[:cut]), bank[cut+1:])
		}
		return nil
	})
	return err
}

// List implements cache.Bank.
func (c *Cache) List(bank string) ([]string, error) {
	if err := cache.CheckName(bank, "", true); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	all, err := c.db.SUnion(ctx, c.keysKey(bank), c.bankKey(bank)).Result()
	all = slices.DeleteFunc(all, func(name string) bool { return name == "." })
	slices.Sort(all)
	return all, wrap("list", bank, "", err)
}

// Updated implements cache.Bank.
func (c *Cache) Updated(bank, key string) (time.Time, error) {
	if err := cache.CheckName(bank, key, false); err != nil {
		return time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	b, err := c.db.Get(ctx, c.stampKey(bank, key)).Bytes()
	if err != nil {
		return time.Time{}, wrap("read the time of", bank, key, err)
	}
	v, err := payload.UnmarshalText(b, payload.WireLimits())
	seconds, ok := v.(int64)
	if err == nil && !ok {
		err = errors.New("it is not a number")
	}
	return time.Unix(seconds, 0), wrap("read the time of", bank, key, err)
}
