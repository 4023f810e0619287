package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// maxTokens is the limit of cached tokens.
const maxTokens = 10_000

// tokens caches tokens while they are valid.
type tokens struct {
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

// An Issuer logs in to Vaults and makes tokens for minions. It caches the tokens of its logins. It is
// safe for concurrent use.
type Issuer struct {
	turn    chan struct{} // held during a login
	logins  tokens
	minions tokens // for a Reader
	mounts  mounts // for a Reader
}

// NewIssuer returns an Issuer that has not logged in anywhere.
func NewIssuer() *Issuer { return &Issuer{turn: make(chan struct{}, 1)} }

// An Order says which token to make.
type Order struct {
	Minion    string
	Policies  []string
	Uses      any // nil means the option, or 1
	TTL       any // nil means the option, or that of Vault
	JID, User string
}

// A refusal is the error for an answer other than a token.
type refusal struct{ text, reason string }

func (r *refusal) Error() string { return r.text }

// Reason returns the text for the minion that asked for a token: as in Salt the reason of Vault's
// answer, else the error.
func Reason(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.reason
	}
	return err.Error()
}

// errNoPolicies is Salt's text.
var errNoPolicies = errors.New("No policies matched minion") //nolint:staticcheck // as in Salt

// PoliciesOf returns the policies of a minion. The keys of values are minion, grains and pillar. A
// pattern with a missing value is left out, and reported to warn.
func (c *Config) PoliciesOf(values *data.Map, warn func(pattern string)) ([]string, error) {
	all := []string{}
	for _, pattern := range c.policies {
		found, err := Expand(pattern, values)
		if errors.Is(err, ErrMissing) {
			warn(pattern)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			all = append(all, strings.ToLower(p)) // Vault knows no others
		}
	}
	return all, nil
}

// UsesPillar reports whether a policy has a value of the pillar.
func (c *Config) UsesPillar() bool {
	for _, p := range c.policies {
		if names(p, "pillar") {
			return true
		}
	}
	return false
}

// loginKey returns the cache key of a login's token; it depends on the options.
func (c *Config) loginKey() string {
	return strings.Join([]string{"login", c.url, c.namespace, c.method, c.roleID, c.secretID,
		c.token}, "\x00")
}

// Issue makes a token for a minion and returns Vault's description of it, with client_token,
// lease_duration and renewable. If the current login is refused it logs in again (generate_token).
func (i *Issuer) Issue(ctx context.Context, c *Config, o Order) (*data.Map, error) {
	if len(o.Policies) == 0 {
		return nil, errNoPolicies
	}
	client, err := newClient(c.address)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return i.issue(ctx, client, c, o)
}

func (i *Issuer) issue(ctx context.Context, client *Client, c *Config, o Order) (*data.Map, error) {
	payload := c.payload(o)
	path := "auth/token/create"
	if role := strings.Trim(c.role, "/"); role != "" {
		path += "/" + role
	}
	for again := false; ; again = true {
		login, err := i.login(ctx, client, c)
		if err != nil {
			return nil, err
		}
		a, err := client.Do(ctx, "POST", path, login, payload)
		if err != nil {
			return nil, err
		}
		if a.Status == 200 {
			auth, _ := a.Body.Value("auth").(*data.Map)
			if auth.Text("client_token") == "" {
				return nil, errors.New("the answer of Vault has no token")
			}
			return auth, nil
		}
		if a.Status != 403 || again || c.method != "approle" {
			return nil, &refusal{fmt.Sprintf("create a token: HTTP %d", a.Status), a.Reason}
		}
		i.logins.forget(c.loginKey())
	}
}

// payload returns the body of a request for a token.
func (c *Config) payload(o Order) *data.Map {
	unset := func(s, what string) string {
		if s == "" {
			return "<no " + what + " set>"
		}
		return s
	}
	policies := []any{}
	for _, p := range o.Policies {
		policies = append(policies, p)
	}
	payload := data.NewMap("policies", policies, "num_uses", c.usesOf(o), "meta",
		data.NewMap("saltstack-jid", unset(o.JID, "jid"), "saltstack-minion", o.Minion,
			"saltstack-user", unset(o.User, "user")))
	if ttl := first(o.TTL, c.ttl); ttl != nil {
		payload.Set("explicit_max_ttl", data.Str(ttl))
	}
	return payload
}

func (c *Config) usesOf(o Order) any { return first(o.Uses, c.uses, int64(1)) }

// first returns the first value that is set.
func first(values ...any) any {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// login returns the token of the configured login.
func (i *Issuer) login(ctx context.Context, client *Client, c *Config) (string, error) {
	if err := c.Usable(); err != nil {
		return "", err
	}
	if c.method == "token" {
		return c.token, nil
	}
	select {
	case i.turn <- struct{}{}: // a wrapped token can only be unwrapped once
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if value, ok := i.logins.take(c.loginKey()); ok {
		return value, nil
	}
	a, err := client.logIn(ctx, c)
	if err != nil {
		return "", err
	}
	if a.Status != 200 {
		return "", &refusal{fmt.Sprintf("log in by %s: HTTP %d", c.method, a.Status), a.Reason}
	}
	auth, _ := a.Body.Value("auth").(*data.Map)
	t, err := newToken(auth, 0)
	if err != nil {
		return "", err
	}
	i.logins.keep(c.loginKey(), t)
	return t.value, nil
}

// logIn requests the token of a login.
func (c *Client) logIn(ctx context.Context, o *Config) (*Answer, error) {
	switch o.method {
	case "wrapped_token":
		return c.Do(ctx, "POST", "sys/wrapping/unwrap", o.token, nil)
	case "approle":
		payload := data.NewMap("role_id", o.roleID)
		if o.hasSecret {
			payload.Set("secret_id", o.secretID)
		}
		return c.Do(ctx, "POST", "auth/approle/login", "", payload)
	}
	return nil, loader.Execution("vault: auth: method: there is no method %s", o.method)
}
