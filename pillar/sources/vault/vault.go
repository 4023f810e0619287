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
// cached ones. The master's own token is renewed if it is refused or its lease ends, and not looked
// up before each use. Tokens are only kept in memory. Responses that are neither a secret nor "not
// found" are logged as errors.
package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

// Limits of the requests of one entry.
const (
	patience = time.Minute
	places   = 16
	maxPaths = 1000
)

// A Source is the external pillar vault. It caches tokens and the mounts of paths.
type Source struct {
	places chan struct{}
	tokens tokens
	mounts mounts
}

// New returns the source.
func New() *Source {
	return &Source{places: make(chan struct{}, places),
		tokens: tokens{turn: make(chan struct{}, 1)}}
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
		_, err = parse(e.pattern)
	}
	_, options := readConfig(opts)
	return errors.Join(err, options)
}

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
	c, err := readConfig(q.Opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, errors.New("too many requests are under way")
	}
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	defer client.http.CloseIdleConnections()
	r := &reading{Source: s, q: q, entry: e, client: client}
	found, err := r.all(ctx)
	if err != nil {
		q.Log.Errorf("ext_pillar vault for %s: %s", q.ID, err)
		return nil, errors.New("no answer of Vault; please see the master's log")
	}
	if data.Truth(e.nesting) {
		return data.NewMap(e.nesting, found), nil
	}
	return found, nil
}

// A reading is the state of one minion and entry.
type reading struct {
	*Source
	q      pillar.Query
	entry  *entry
	client *client
}

// all merges the secrets of all paths.
func (r *reading) all(ctx context.Context) (*data.Map, error) {
	paths, err := expand(r.entry.pattern, data.NewMap("minion", r.q.ID, "pillar", r.q.Pillar))
	if errors.Is(err, errMissing) {
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
	version2, path, err := r.locate(ctx, path)
	if err != nil {
		return nil, err
	}
	a, err := r.ask(ctx, path)
	if err != nil {
		return nil, err
	}
	if a.status != 200 {
		if a.status != 404 {
			r.q.Log.Errorf("Error from vault: HTTP %d for %s", a.status, path)
		}
		r.q.Log.Infof("Vault secret not found for: %s", path)
		return nil, nil
	}
	found, _ := a.body.Value("data").(*data.Map)
	if version2 {
		found, _ = found.Value("data").(*data.Map)
	}
	return found, nil
}

// ask reads a path with the minion's token; a refused token is replaced once.
func (r *reading) ask(ctx context.Context, path string) (*answer, error) {
	for again := false; ; again = true {
		token, err := r.tokens.of(ctx, r)
		if err != nil {
			return nil, err
		}
		a, err := r.client.do(ctx, "GET", path, token, nil)
		if err != nil {
			return nil, err
		}
		if a.status != 403 || again {
			return a, nil
		}
		r.q.Log.Info("Permission denied from vault")
		r.tokens.drop(r)
	}
}

// locate reports whether a path uses version 2 of the key-value store, and the path of its data
// (vault.is_v2).
func (r *reading) locate(ctx context.Context, path string) (version2 bool, at string, err error) {
	m, known := r.mounts.get(r.client, path)
	if !known {
		a, err := r.ask(ctx, "sys/internal/ui/mounts/"+path)
		if err != nil {
			return false, "", err
		}
		if m, known = mountOf(a); !known {
			r.q.Log.Errorf("Failed to get secret metadata of %s: HTTP %d", path, a.status)
			return false, path, nil
		}
		r.mounts.put(r.client, path, m)
	}
	if !m.version2 {
		return false, path, nil
	}
	if m.path == "" {
		m.path = path
	}
	return true, dataPath(path, m.path), nil
}

// dataPath inserts data after the mount of a path (vault._v2_the_path).
func dataPath(path, mount string) string {
	path, mount = strings.Trim(path, "/"), strings.Trim(mount, "/")
	if meta := mount + "/metadata"; strings.HasPrefix(path, meta) {
		return strings.Replace(path, meta, mount+"/data", 1)
	}
	if strings.HasPrefix(path, mount+"/data") {
		return path
	}
	return strings.Replace(path, mount, mount+"/data", 1)
}

// config holds the option vault.
type config struct {
	url, namespace, verify string
	insecure               bool
	method, token          string
	roleID, secretID       string
	hasSecret              bool
	uses                   int64
	ttl                    any
	role                   string
	policies               []string
	local                  bool // read with the configured login, not with tokens of minions
}

func readConfig(opts *data.Map) (*config, error) {
	m, _ := opts.Value("vault").(*data.Map)
	auth, _ := m.Value("auth").(*data.Map)
	if m == nil || auth == nil {
		return nil, errors.New("vault: expected a dictionary with url and auth")
	}
	c := &config{url: strings.TrimRight(m.Text("url"), "/"), namespace: m.Text("namespace"),
		verify: m.Text("verify"), insecure: m.Value("verify") == false,
		method: auth.Text("method"), token: auth.Text("token"), roleID: auth.Text("role_id"),
		secretID: auth.Text("secret_id"), hasSecret: auth.Has("secret_id"),
		uses: 1, ttl: auth.Value("ttl"), role: m.Text("role_name"),
		policies: []string{"saltstack/minion/{minion}", "saltstack/minions"},
		local: m.Text("config_location") == "local" || m.Text("config_location") == "" &&
			opts.Text("__role") != "master"}
	if v, ok := auth.Get("uses"); ok && v != nil {
		if c.uses, ok = v.(int64); !ok {
			return nil, errors.New("vault: auth: uses: expected a number")
		}
	}
	if list, ok := m.Value("policies").([]any); ok {
		c.policies = nil
		for _, p := range list {
			c.policies = append(c.policies, data.Str(p))
		}
	}
	return c, c.check()
}

func (c *config) check() error {
	var errs []error
	if !strings.HasPrefix(c.url, "http://") && !strings.HasPrefix(c.url, "https://") {
		errs = append(errs, errors.New("vault: url: expected an address of http or https"))
	}
	switch c.method {
	case "token", "wrapped_token":
		if c.token == "" {
			errs = append(errs, errors.New("vault: auth: token is not set"))
		}
	case "approle":
		if c.roleID == "" {
			errs = append(errs, errors.New("vault: auth: role_id is not set"))
		}
	default:
		errs = append(errs, errors.New("vault: auth: method: expected token, approle or wrapped_token"))
	}
	for _, p := range c.policies {
		if _, err := parse(p); err != nil {
			errs = append(errs, fmt.Errorf("vault: policies: %w", err))
		}
	}
	return errors.Join(errs...)
}
