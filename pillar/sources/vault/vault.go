// Package vault is Salt's external pillar of that name: secrets of a HashiCorp Vault
// (salt/pillar/vault.py, salt/utils/vault.py and generate_token of salt/runners/vault.py).
//
//	vault:
//	  url: https://vault.example.com:8200
//	  verify: /etc/ssl/certs/vault.pem     # or False; else the system's certificates count
//	  namespace: ops
//	  role_name: salt                      # of tokens of minions
//	  policies: [saltstack/minions, 'saltstack/minion/{minion}', 'saltstack/role/{grains[roles]}']
//	  auth: {method: approle, role_id: ID, secret_id: SECRET, uses: 1, ttl: 60s}   # or {method: token, token: TOKEN}
//	ext_pillar:
//	  - vault: path=secret/minions/{minion}
//	  - vault: {conf: 'path=secret/roles/{pillar[roles]}', nesting_key: roles, merge_strategy: recurse, merge_lists: True}
//
// On a master each minion's secrets are read with a token of its own, which has the minion's
// policies and the lifetime in auth. With config_location: local, and without a master, the
// configured login reads them. Vault is asked whether a path uses version 1 or 2 of the key-value
// store.
//
// Differences: grains and pillar in policies are those of the running compilation, not the master's
// cached ones. Tokens are only kept in memory. Responses that are neither a secret nor "not found"
// are logged as errors.
package vault

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/vault"
	"github.com/brineproject/brine/pillar"
)

// Limits of the requests of one entry.
const (
	patience = time.Minute
	places   = 16
)

// A Source is the external pillar vault. It caches tokens and the mounts of paths.
type Source struct {
	places chan struct{}
	issuer *vault.Issuer
}

// New returns the source.
func New() *Source {
	return &Source{places: make(chan struct{}, places), issuer: vault.NewIssuer()}
}

var _ pillar.Checker = (*Source)(nil)

// Name implements pillar.Source.
func (*Source) Name() string { return "vault" }

// An entry holds the arguments of one entry in ext_pillar.
type entry struct {
	pattern  string // of paths; "" if conf has none
	nesting  any
	strategy string
	lists    bool
}

func readEntry(argument any, opts *data.Map) (*entry, error) {
	args, err := pillar.Bind(argument, 1, "conf", "nesting_key", "merge_strategy", "merge_lists")
	if err != nil {
		return nil, err
	}
	conf, ok := args.Value("conf").(string)
	if !ok {
		return nil, errors.New("conf: expected path=PATH")
	}
	e := &entry{nesting: args.Value("nesting_key"), strategy: args.Text("merge_strategy"),
		lists: data.Truth(args.Value("merge_lists"))}
	for _, word := range strings.Fields(conf) {
		if e.pattern == "" && strings.HasPrefix(word, "path=") {
			e.pattern = strings.ReplaceAll(word, "path=", "")
		}
	}
	for _, usual := range []string{opts.Text("pillar_source_merging_strategy"), "smart"} {
		if e.strategy == "" {
			e.strategy = usual
		}
	}
	e.lists = e.lists || data.Truth(opts.Value("pillar_merge_lists"))
	if !data.Hashable(e.nesting) {
		return nil, errors.New("nesting_key: expected a text")
	}
	return e, nil
}

// Check implements pillar.Checker.
func (*Source) Check(argument any, opts *data.Map) error {
	e, err := readEntry(argument, opts)
	if err == nil && e.pattern == "" {
		err = errors.New("conf: expected path=PATH")
	}
	if err == nil {
		err = vault.CheckPattern(e.pattern)
	}
	if _, ok := opts.Value("vault").(*data.Map); !ok {
		err = errors.Join(err, errNoOption)
	}
	return err
}

// errNoOption is the error for an entry without the option vault, whose content is checked by itself.
var errNoOption = errors.New("vault: expected a dictionary with url and auth")

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	if data.Truth(q.ExtraMinionData.Value("_vault_runner_is_compiling_pillar_templates")) {
		return nil, nil
	}
	e, err := readEntry(q.Argument, q.Opts)
	if err != nil {
		return nil, err
	}
	if e.pattern == "" {
		q.Log.Errorf("%s is not a valid Vault ext_pillar config", data.Repr(q.Argument))
		return nil, nil
	}
	c, err := option(ctx, q)
	if err != nil {
		q.Log.Errorf("ext_pillar vault for %s: %s", q.ID, err)
		return nil, errNoAnswer
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, errors.New("too many requests are under way")
	}
	r := &reading{q: q, entry: e}
	var policies func() ([]string, error)
	if c.Location() == "master" || c.Location() == "" && q.Opts.Text("__role") == "master" {
		policies = func() ([]string, error) { return r.policies(c) }
	}
	if r.Reader, err = s.issuer.Reader(c, q.ID, policies, q.Log); err != nil {
		return nil, err
	}
	defer r.Close()
	found, err := r.all(ctx)
	if err != nil {
		q.Log.Errorf("ext_pillar vault for %s: %s", q.ID, err)
		return nil, errNoAnswer
	}
	if data.Truth(e.nesting) {
		return data.NewMap(e.nesting, found), nil
	}
	return found, nil
}

// errNoAnswer is what a minion sees of a failure.
var errNoAnswer = errors.New("no answer of Vault; please see the master's log")

// option returns the option vault, without faults.
func option(ctx context.Context, q pillar.Query) (*vault.Config, error) {
	if err := config.Faults(vault.Check(q.Opts)); err != nil {
		return nil, err
	}
	call := func(context.Context, string, []any, *data.Map) (any, error) {
		return nil, errors.New("no functions are there")
	}
	if q.Engine != nil {
		call = q.Engine.Env().Call
	}
	c, err := vault.Load(ctx, q.Opts, call)
	if err != nil {
		return nil, err
	}
	return c, c.Usable()
}

// A reading is the state of one minion and entry.
type reading struct {
	*vault.Reader
	q     pillar.Query
	entry *entry
}

// policies returns those of the minion.
func (r *reading) policies(c *vault.Config) ([]string, error) {
	values := data.NewMap("minion", r.q.ID, "grains", r.q.Grains, "pillar", r.q.Pillar)
	return c.PoliciesOf(values, func(pattern string) {
		r.q.Log.Warnf("Could not resolve policy pattern %s for minion %s", pattern, r.q.ID)
	})
}

// all merges the secrets of all paths.
func (r *reading) all(ctx context.Context) (*data.Map, error) {
	paths, err := vault.Expand(r.entry.pattern, data.NewMap("minion", r.q.ID, "pillar", r.q.Pillar))
	if errors.Is(err, vault.ErrMissing) {
		r.q.Log.Warnf("Could not resolve pillar path pattern %s", r.entry.pattern)
		return data.NewMap(), nil
	}
	if err != nil {
		return nil, err
	}
	out := data.NewMap()
	for _, path := range paths {
		found, err := r.secret(ctx, path)
		if err != nil {
			return nil, err
		}
		out = pillar.MergeAs(r.entry.strategy, r.entry.lists, out, found)
	}
	return out, nil
}

// secret returns the secret at a path; nil if there is none.
func (r *reading) secret(ctx context.Context, path string) (*data.Map, error) {
	kv, err := r.KV(ctx, path)
	if err != nil {
		return nil, err
	}
	a, err := r.Get(ctx, kv.Data)
	if err != nil {
		return nil, err
	}
	if a.Status != 200 {
		if a.Status != 404 {
			r.q.Log.Errorf("Error from vault: HTTP %d for %s", a.Status, kv.Data)
		}
		r.q.Log.Infof("Vault secret not found for: %s", kv.Data)
		return nil, nil
	}
	found, _ := a.Body.Value("data").(*data.Map)
	if kv.V2 {
		found, _ = found.Value("data").(*data.Map)
	}
	return found, nil
}
