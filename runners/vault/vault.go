// Package vault is Salt's runner vault: it makes the tokens with which minions read secrets of a
// HashiCorp Vault (salt/runners/vault.py).
//
// A minion, of Salt or Brine, asks for its token by publish.runner. The option peer_run must allow
// vault.generate_token to it, and the request must bear its signature.
//
//	vault:
//	  url: https://vault.example.com:8200
//	  auth: {method: approle, role_id: ID, secret_id: SECRET}
//	  policies: [saltstack/minions, 'saltstack/minion/{minion}', 'role/{pillar[roles]}']
//	peer_run:
//	  .*: [vault.generate_token]
//
// Unlike in Salt the id of a minion is looked up among the accepted keys, and is never part of a
// path. A policy with a grain that has ?, # or a part .. is refused.
package vault

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/minions"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/vault"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
)

// Compiler compiles pillars as the master does for its minions.
type Compiler interface {
	Compile(ctx context.Context, r pillar.Request) (*data.Map, error)
}

// Needs are the runner's dependencies.
type Needs struct {
	Keys     pki.Store
	Bank     cache.Bank
	Compiler Compiler
}

// Plugin returns the runner vault.
func Plugin(n Needs) loader.Plugin {
	issuer := vault.NewIssuer()
	return loader.Plugin{Name: "vault", New: func(env *loader.Env) (*loader.Module, error) {
		if n.Keys == nil || n.Bank == nil || n.Compiler == nil {
			return nil, errors.New("no master cache is configured")
		}
		m := &module{env, n, issuer}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("generate_token", m.generateToken).Secret("signature").
				SecretResult(loader.SecretAll),
			loader.F("show_policies", m.showPolicies),
			loader.F("unseal", m.unseal),
		}}, nil
	}}
}

type module struct {
	env    *loader.Env
	needs  Needs
	issuer *vault.Issuer
}

type tokenArgs struct {
	MinionID             string `name:"minion_id"`
	Signature            any
	ImpersonatedByMaster bool `default:"False"`
	TTL                  any  `name:"ttl" default:"None"`
	Uses                 any  `default:"None"`
}

// generateToken makes a token for a minion, with the policies of the option vault. Minions call it
// themselves. The result has the key error if that fails.
//
// signature
//
//	The signature of the id by the minion, or by the master with impersonated_by_master.
//
// ttl, uses
//
//	The lifetime of the token and the number of its uses, if allow_minion_override is set.
//
// CLI Example:
//
//	salt-run vault.generate_token web1 SIGNATURE
func (m *module) generateToken(ctx context.Context, a tokenArgs) (any, error) {
	if err := m.verify(a); err != nil {
		m.env.Log.Warnf("A request for a token of Vault for %s is refused: %v", a.MinionID, err)
		return nil, loader.Exception("salt.exceptions.AuthenticationError",
			"Could not validate token request from %s", a.MinionID)
	}
	ret, err := m.token(ctx, a)
	if err != nil {
		m.env.Log.Errorf("Make a token of Vault for %s: %v", a.MinionID, err)
		return data.NewMap("error", vault.Reason(err)), nil
	}
	return ret, nil
}

func (m *module) token(ctx context.Context, a tokenArgs) (*data.Map, error) {
	c, err := vault.Load(ctx, m.env.Opts, m.env.Call)
	if err == nil {
		err = c.Usable()
	}
	if err != nil {
		return nil, err
	}
	policies, err := m.policies(ctx, c, a.MinionID, c.RefreshPillar(), c.CacheTime())
	if err != nil {
		return nil, err
	}
	run := runners.RunOf(ctx)
	o := vault.Order{Minion: a.MinionID, Policies: policies, User: run.User, JID: string(run.ID)}
	return m.issuer.Token(ctx, c, o, vault.Choice{Uses: a.Uses, TTL: a.TTL})
}

// verify returns an error unless the minion, or the master itself, signed the request.
func (m *module) verify(a tokenArgs) error {
	pem, err := m.key(a)
	if err != nil {
		return err
	}
	key, err := crypto.ParsePublicKey([]byte(pem))
	if err != nil {
		return err
	}
	var text []byte
	switch v := a.Signature.(type) {
	case string:
		text = []byte(v)
	case []byte:
		text = v
	}
	sig, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return errors.New("the signature is no base64")
	}
	return key.Verify([]byte(a.MinionID), sig, crypto.SHA1Sign)
}

// key returns the public key for the signature.
func (m *module) key(a tokenArgs) (string, error) {
	if !a.ImpersonatedByMaster {
		return m.needs.Keys.Get(pki.Accepted, a.MinionID)
	}
	text, err := os.ReadFile(filepath.Join(m.env.Opts.Text("pki_dir"), "master.pub"))
	return string(text), err
}

type policyArgs struct {
	MinionID      string `name:"minion_id"`
	RefreshPillar any    `default:"'<Constant.NOT_SET>'"`
	Expire        any    `default:"None"`
}

// notSet is the default of parameters that may be None.
const notSet = "<Constant.NOT_SET>"

// showPolicies returns the policies of the tokens of a minion.
//
// refresh_pillar
//
//	Whether to compile the pillar for patterns with values of it. None compiles it only if the
//	master has none of the minion. Default: the option policies_refresh_pillar.
//
// expire
//
//	The age in seconds up to which the last result counts. Default: the option policies_cache_time,
//	or 60.
//
// CLI Example:
//
//	salt-run vault.show_policies myminion
func (m *module) showPolicies(ctx context.Context, a policyArgs) (any, error) {
	c := vault.Read(m.env.Opts)
	refresh, expire := a.RefreshPillar, a.Expire
	if refresh == notSet {
		refresh = c.RefreshPillar()
	}
	if expire == nil {
		expire = c.CacheTime()
	}
	all, err := m.policies(ctx, c, a.MinionID, refresh, expire)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, p := range all {
		list = append(list, p)
	}
	return list, nil
}

// policiesKey is the key in the bank of a minion for its policies, as in Salt.
const policiesKey = "policies"

// policies returns the policies of a minion, which are cached for some seconds.
func (m *module) policies(
	ctx context.Context, c *vault.Config, id string, refresh, expire any,
) ([]string, error) {
	if err := pki.ValidID(id); err != nil {
		return nil, err
	}
	seconds, err := loader.Float(expire)
	if err != nil {
		return nil, fmt.Errorf("policies_cache_time: %w", err)
	}
	bank := minions.BankOf(id) + "/vault"
	if known, ok := m.cached(bank, seconds); ok {
		return known, nil
	}
	all, err := m.compute(ctx, c, id, refresh)
	if err != nil || seconds <= 0 {
		return all, err
	}
	list := []any{}
	for _, p := range all {
		list = append(list, p)
	}
	raw, err := payload.MarshalBin(list)
	if err == nil {
		err = m.needs.Bank.Store(bank, policiesKey, raw)
	}
	if err != nil {
		m.env.Log.WithError(err).Errorf("Cache the policies of %s", id)
	}
	return all, nil
}

// cached returns the cached policies, if they are no older than some seconds.
func (m *module) cached(bank string, seconds float64) ([]string, bool) {
	at, err := m.needs.Bank.Updated(bank, policiesKey)
	if err != nil || seconds <= 0 || time.Since(at).Seconds() > seconds {
		return nil, false
	}
	raw, err := m.needs.Bank.Fetch(bank, policiesKey)
	if err != nil {
		return nil, false
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	list, ok := v.([]any)
	if err != nil || !ok {
		m.env.Log.Warn("Cached vault policies were not formed as a list. Refreshing.")
		return nil, false
	}
	return data.Texts(list), true
}

// compute expands the patterns of the option policies.
func (m *module) compute(
	ctx context.Context, c *vault.Config, id string, refresh any,
) ([]string, error) {
	grains, known := m.minion(id)
	if c.UsesPillar() && (refresh == true || refresh == nil && known == nil) {
		var err error
		if known, err = m.compile(ctx, id, grains); err != nil {
			return nil, err
		}
	}
	if known == nil {
		known = data.NewMap()
	}
	values := data.NewMap("minion", id, "grains", grains, "pillar", known)
	return c.PoliciesOf(values, func(pattern string) {
		m.env.Log.Warnf("Could not resolve policy pattern %s for minion %s", pattern, id)
	})
}

// minion returns the grains and the pillar that the master last got from a minion; without any the
// grains have the id alone and the pillar is nil.
func (m *module) minion(id string) (grains, known *data.Map) {
	if data.Truth(m.env.Option("minion_data_cache")) {
		grains, known, _ = minions.Cache{Bank: m.needs.Bank}.Minion(id)
	}
	if grains == nil {
		grains = data.NewMap("id", id)
	}
	return grains, known
}

// compilingKey marks the context of a compilation for policies.
type compilingKey struct{}

// compiling is the field that tells external pillars of such a compilation, as in Salt.
const compiling = "_vault_runner_is_compiling_pillar_templates"

// compile compiles the pillar of a minion for its policies.
func (m *module) compile(ctx context.Context, id string, grains *data.Map) (*data.Map, error) {
	if ctx.Value(compilingKey{}) != nil {
		return nil, errors.New("Cyclic dependency detected while refreshing pillar for vault policy templating. " + //nolint:staticcheck // Salt's text
			"This is caused by some pillar value relying on the vault execution module. " +
			"Either remove the dependency from your pillar, disable refreshing pillar data " +
			"for policy templating or do not use pillar values in policy templates.")
	}
	m.env.Log.Info("Refreshing pillar for vault templating.")
	return m.needs.Compiler.Compile(context.WithValue(ctx, compilingKey{}, true),
		pillar.Request{ID: id, Grains: grains, ExtraMinionData: data.NewMap(compiling, true)})
}

// unseal sends the keys in the option vault until the Vault is open, and reports whether it is.
//
// CLI Example:
//
//	salt-run vault.unseal
func (m *module) unseal(ctx context.Context, _ loader.NoArgs) (any, error) {
	c, err := vault.Load(ctx, m.env.Opts, m.env.Call)
	if err != nil {
		return nil, err
	}
	keys := c.Keys()
	if len(keys) == 0 {
		return nil, loader.Execution("unseal the Vault: the option vault has no keys")
	}
	for _, key := range keys {
		sealed, err := c.Unseal(ctx, key)
		if err != nil {
			return nil, loader.Execution("unseal the Vault: %w", err)
		}
		if !sealed {
			return true, nil
		}
	}
	return false, nil
}
