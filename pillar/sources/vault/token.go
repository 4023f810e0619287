package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
)

// maxTokens is the limit of cached tokens.
const maxTokens = 10_000

// tokens caches the tokens of the login and of minions while they are valid.
type tokens struct {
	turn chan struct{} // held during a login
	mu   sync.Mutex
	kept map[string]*token
}

// A token has a limited number of uses and an end of validity.
type token struct {
	value string
	uses  int64 // left; 0 means unlimited
	until time.Time
}

// defaultLease is the lifetime of a token for which Vault reports no lease.
const defaultLease = time.Hour

func newToken(auth *data.Map, uses int64) (*token, error) {
	t := &token{value: auth.Text("client_token"), uses: uses, until: time.Now().Add(defaultLease)}
	if t.value == "" {
		return nil, errors.New("the answer to a login has no token")
	}
	if lease, ok := auth.Value("lease_duration").(int64); ok && lease > 0 {
		t.until = time.Now().Add(time.Duration(min(lease, 1<<30)-min(10, lease/2)) * time.Second)
	}
	return t, nil
}

// take returns a cached token and counts the use.
func (k *tokens) take(key string) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.kept[key]
	if !ok || time.Now().After(t.until) {
		delete(k.kept, key)
		return "", false
	}
	if t.uses == 1 {
		delete(k.kept, key)
	}
	t.uses = max(t.uses-1, 0)
	return t.value, true
}

func (k *tokens) keep(key string, t *token) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || len(k.kept) >= maxTokens {
		k.kept = map[string]*token{}
	}
	k.kept[key] = t
}

func (k *tokens) forget(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, key)
}

// loginKey returns the cache key of a login's token; it depends on the options.
func loginKey(c *config) string {
	return strings.Join([]string{"login", c.url, c.namespace, c.method, c.roleID, c.secretID,
		c.token}, "\x00")
}

// of returns the token for reading a minion's secrets.
func (k *tokens) of(ctx context.Context, r *reading) (string, error) {
	if r.client.local {
		return k.login(ctx, r.client)
	}
	policies, err := r.policies()
	if err != nil {
		return "", err
	}
	key := r.key(policies)
	if value, ok := k.take(key); ok {
		return value, nil
	}
	t, err := k.issue(ctx, r, policies)
	if err != nil {
		return "", fmt.Errorf("make a token for the minion: %w", err)
	}
	if t.uses != 1 {
		t.uses = max(t.uses-1, 0)
		k.keep(key, t)
	}
	return t.value, nil
}

func (r *reading) key(policies []string) string {
	return strings.Join(append([]string{"minion", loginKey(r.client.config), r.client.role, r.q.ID},
		policies...), "\x00")
}

// drop removes the token that a reading used.
func (k *tokens) drop(r *reading) {
	if r.client.local {
		k.forget(loginKey(r.client.config))
		return
	}
	if policies, err := r.policies(); err == nil {
		k.forget(r.key(policies))
	}
}

// policies returns those of the minion; patterns with a missing value are left out.
func (r *reading) policies() ([]string, error) {
	values := data.NewMap("minion", r.q.ID, "grains", r.q.Grains, "pillar", r.q.Pillar)
	var all []string
	for _, pattern := range r.client.config.policies {
		found, err := expand(pattern, values)
		if errors.Is(err, errMissing) {
			r.q.Log.Warnf("Could not resolve policy pattern %s for minion %s", pattern, r.q.ID)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			all = append(all, strings.ToLower(p))
		}
	}
	if len(all) == 0 {
		return nil, errors.New("No policies matched minion") //nolint:staticcheck // Salt's text
	}
	return all, nil
}

// issue creates a token for a minion. If the current login is refused it logs in again
// (generate_token).
func (k *tokens) issue(ctx context.Context, r *reading, policies []string) (*token, error) {
	payload := map[string]any{"policies": policies, "num_uses": r.client.uses,
		"meta": map[string]string{"saltstack-jid": "<no jid set>", "saltstack-minion": r.q.ID,
			"saltstack-user": "<no user set>"}}
	if r.client.ttl != nil {
		payload["explicit_max_ttl"] = data.Str(r.client.ttl)
	}
	path := "auth/token/create"
	if role := strings.Trim(r.client.role, "/"); role != "" {
		path += "/" + role
	}
	for again := false; ; again = true {
		login, err := k.login(ctx, r.client)
		if err != nil {
			return nil, err
		}
		a, err := r.client.do(ctx, "POST", path, login, payload)
		if err != nil {
			return nil, err
		}
		if a.status == 200 {
			auth, _ := a.body.Value("auth").(*data.Map)
			return newToken(auth, max(r.client.uses, 0))
		}
		if a.status != 403 || again || r.client.method != "approle" {
			return nil, errors.New(a.reason)
		}
		k.forget(loginKey(r.client.config))
	}
}

// login returns the token of the configured login.
func (k *tokens) login(ctx context.Context, c *client) (string, error) {
	if c.method == "token" {
		return c.token, nil
	}
	select {
	case k.turn <- struct{}{}: // a wrapped token can only be unwrapped once
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	key := loginKey(c.config)
	if value, ok := k.take(key); ok {
		return value, nil
	}
	a, err := c.logIn(ctx)
	if err != nil {
		return "", err
	}
	if a.status != 200 {
		return "", fmt.Errorf("log in by %s: HTTP %d", c.method, a.status)
	}
	auth, _ := a.body.Value("auth").(*data.Map)
	t, err := newToken(auth, 0)
	if err != nil {
		return "", err
	}
	k.keep(key, t)
	return t.value, nil
}

// logIn requests the token of a login.
func (c *client) logIn(ctx context.Context) (*answer, error) {
	if c.method == "wrapped_token" {
		return c.do(ctx, "POST", "sys/wrapping/unwrap", c.token, nil)
	}
	payload := map[string]string{"role_id": c.roleID}
	if c.hasSecret {
		payload["secret_id"] = c.secretID
	}
	return c.do(ctx, "POST", "auth/approle/login", "", payload)
}
