package vault

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
)

// A Choice is what a minion asks of its token. Both may be nil.
type Choice struct{ Uses, TTL any }

// Token makes a token for a minion, and returns the result of vault.generate_token: the token, and
// where and how often it counts. The choice of the minion counts with allow_minion_override.
func (i *Issuer) Token(ctx context.Context, c *Config, o Order, choice Choice) (*data.Map, error) {
	if c.override {
		o.Uses, o.TTL = choice.Uses, choice.TTL
	}
	auth, err := i.Issue(ctx, c, o)
	if err != nil {
		return nil, err
	}
	ret := data.NewMap("token", auth.Text("client_token"),
		"lease_duration", auth.Value("lease_duration"), "renewable", auth.Value("renewable"),
		"issued", time.Now().Unix(), "url", c.url, "verify", c.verify, "token_backend", c.backend,
		"namespace", nil)
	if c.namespace != "" {
		ret.Set("namespace", c.namespace)
	}
	if uses, ok := c.usesOf(o).(int64); ok && uses >= 0 {
		ret.Set("uses", uses)
	}
	return ret, nil
}

// RefreshPillar returns the option policies_refresh_pillar: nil, or a truth value.
func (c *Config) RefreshPillar() any { return c.refresh }

// defaultCacheTime is the default of policies_cache_time, in seconds.
const defaultCacheTime = 60

// CacheTime returns the option policies_cache_time.
func (c *Config) CacheTime() any { return first(c.cacheTime, int64(defaultCacheTime)) }

// Unseal sends one key of a sealed Vault, and reports whether it is still sealed. It takes no token:
// a sealed Vault cannot check one.
func (c *Config) Unseal(ctx context.Context, key string) (sealed bool, err error) {
	client, err := newClient(c.address)
	if err != nil {
		return true, err
	}
	defer client.Close()
	a, err := client.Do(ctx, "PUT", "sys/unseal", "", data.NewMap("key", key))
	if err != nil {
		return true, err
	}
	if err := a.Err(); err != nil {
		return true, err
	}
	return a.Body.Value("sealed") != false, nil
}
