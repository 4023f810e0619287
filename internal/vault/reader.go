package vault

import (
	"context"
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"
)

// A Reader reads secrets for one minion where its pillar is compiled. On a master it uses a token
// that has the minion's policies and no more.
type Reader struct {
	issuer   *Issuer
	config   *Config
	client   *Client
	minion   string
	policies func() ([]string, error)
	log      logrus.FieldLogger
}

// Reader returns a Reader for a minion. policies returns the policies of its tokens; with nil the
// configured login reads. The caller closes it.
func (i *Issuer) Reader(
	c *Config, minion string, policies func() ([]string, error), log logrus.FieldLogger,
) (*Reader, error) {
	client, err := newClient(c.address)
	if err != nil {
		return nil, err
	}
	return &Reader{i, c, client, minion, policies, log}, nil
}

// Close ends idle connections.
func (r *Reader) Close() { r.client.Close() }

// Get reads a path; a refused token is replaced once.
func (r *Reader) Get(ctx context.Context, path string) (*Answer, error) {
	for again := false; ; again = true {
		token, err := r.token(ctx)
		if err != nil {
			return nil, err
		}
		a, err := r.client.Do(ctx, "GET", path, token, nil)
		if err != nil {
			return nil, err
		}
		if a.Status != 403 || again {
			return a, nil
		}
		r.log.Info("Permission denied from vault")
		r.drop()
	}
}

// KV returns the paths of a secret. If Vault does not describe its mount they are those of version 1.
func (r *Reader) KV(ctx context.Context, path string) (KV, error) {
	if known, ok := r.issuer.mounts.get(r.client.address, path); ok {
		return kvOf(path, known), nil
	}
	a, err := r.Get(ctx, mountsPath+path)
	if err != nil {
		return KV{}, err
	}
	mount := mountOf(a)
	if mount == nil {
		r.log.Errorf("Failed to get secret metadata of %s: HTTP %d", path, a.Status)
		return kvOf(path, nil), nil
	}
	r.issuer.mounts.put(r.client.address, path, mount)
	return kvOf(path, mount), nil
}

// key returns the cache key of a token of the minion.
func (r *Reader) key(policies []string) string {
	return strings.Join(append([]string{"minion", r.config.loginKey(), r.config.role, r.minion},
		policies...), "\x00")
}

// token returns the token for the next request.
func (r *Reader) token(ctx context.Context) (string, error) {
	if r.policies == nil {
		return r.issuer.login(ctx, r.client, r.config)
	}
	policies, err := r.policies()
	if err != nil {
		return "", err
	}
	key := r.key(policies)
	if value, ok := r.issuer.minions.take(key); ok {
		return value, nil
	}
	o := Order{Minion: r.minion, Policies: policies}
	t, err := r.issue(ctx, o)
	if err != nil {
		return "", fmt.Errorf("make a token for the minion: %w", err)
	}
	if t.uses != 1 {
		t.uses = max(t.uses-1, 0)
		r.issuer.minions.keep(key, t)
	}
	return t.value, nil
}

func (r *Reader) issue(ctx context.Context, o Order) (*token, error) {
	if len(o.Policies) == 0 {
		return nil, errNoPolicies
	}
	auth, err := r.issuer.issue(ctx, r.client, r.config, o)
	if err != nil {
		return nil, err
	}
	uses, _ := r.config.usesOf(o).(int64)
	return newToken(auth, max(uses, 0))
}

// drop removes the token that the last request used.
func (r *Reader) drop() {
	if r.policies == nil {
		r.issuer.logins.forget(r.config.loginKey())
		return
	}
	if policies, err := r.policies(); err == nil {
		r.issuer.minions.forget(r.key(policies))
	}
}
