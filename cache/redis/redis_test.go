package redis

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/cachetest"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

// open returns an empty cache in the Redis of the machine, whose keys have prefixes of this test.
func open(t *testing.T) *Cache {
	t.Helper()
	own := "brine_test_" + strings.NewReplacer("/", "_", "#", "_").Replace(t.Name())
	c, err := Open(data.NewMap("cache.redis.host", "127.0.0.1", "cache.redis.db", "5", "cache.redis.bank_prefix", own+"$BANK",
		"cache.redis.bank_keys_prefix", own+"$BANKEYS", "cache.redis.key_prefix", own+"$KEY",
		"cache.redis.timestamp_prefix", own+"$TSTAMP"))
	if err != nil {
		t.Fatal(err)
	}
	need.That(t, "Redis on 127.0.0.1:6379", c.db.Ping(t.Context()).Err())
	clean := func() {
		keys, _ := c.db.Keys(context.Background(), own+"$*").Result()
		if len(keys) > 0 {
			c.db.Del(context.Background(), keys...)
		}
	}
	clean()
	t.Cleanup(func() { clean(); c.Close() })
	return c
}

func TestCache(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Bank { return open(t) })
}

// TestKeysAreSalts checks the keys that Salt 3006.18 uses, and that nothing is left of a flushed bank.
func TestKeysAreSalts(t *testing.T) {
	c := open(t)
	c.now = func() time.Time { return time.Unix(1772366405, 0) }
	if err := c.Store("minions/web1", "data", []byte("\x81")); err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSuffix(c.bank, "$BANK")
	for key, want := range map[string]string{"$KEY_minions/web1/data": "\x81",
		"$TSTAMP_{'minions/web1'}/{'data'}": "\xcei\xa4*E"} {
		if got, err := c.db.Get(t.Context(), own+key).Result(); err != nil || got != want {
			t.Errorf("%s is %q, %v", key, got, err)
		}
	}
	for key, want := range map[string]string{"$BANKEYS_minions/web1": "data", "$BANK_minions/web1": ".", "$BANK_minions": "."} {
		if in, err := c.db.SIsMember(t.Context(), own+key, want).Result(); err != nil || !in {
			t.Errorf("%s lacks %s: %v", key, want, err)
		}
	}
	if at, err := c.Updated("minions/web1", "data"); err != nil || at.Unix() != 1772366405 {
		t.Errorf("%v, %v", at, err)
	}
	if err := c.Flush("minions", ""); err != nil {
		t.Fatal(err)
	}
	if left, _ := c.db.Keys(t.Context(), own+"$*").Result(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestOptions(t *testing.T) {
	for option, value := range map[string]any{"cache.redis.port": "x", "cache.redis.db": int64(-1), "cache.redis.cluster_mode": true} {
		if _, err := Open(data.NewMap(option, value)); err == nil || !strings.HasPrefix(err.Error(), option+": ") {
			t.Errorf("%s: %v", option, err)
		}
	}
	c, err := Open(data.NewMap("cache.redis.host", "127.0.0.1", "cache.redis.port", int64(1), "cache.redis.password", "hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Fetch("a", "b"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}
