package vault

import (
	"errors"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Config is the option vault. Its zero value is that of an option that is not set.
type Config struct {
	address
	set bool // the option is a dictionary

	method, token    string
	roleID, secretID string
	hasSecret        bool

	uses, ttl any    // of the tokens of minions; nil if not set
	override  bool   // minions may choose both
	backend   string // where minions keep their token: session or disk
	role      string // of the tokens of minions
	policies  []string
	refresh   any // policies_refresh_pillar: nil, or a truth value
	cacheTime any // policies_cache_time, in seconds; nil if not set
	keys      []string
	location  string // config_location
}

// Read returns the option vault of a master or minion. Check reports what is wrong with it.
func Read(opts *data.Map) *Config {
	m, ok := opts.Value("vault").(*data.Map)
	auth, _ := m.Value("auth").(*data.Map)
	c := &Config{set: ok,
		address: address{url: strings.TrimRight(m.Text("url"), "/"), namespace: m.Text("namespace"),
			verify: verifyOf(m.Value("verify"))},
		method: auth.Text("method"), token: auth.Text("token"), roleID: auth.Text("role_id"),
		secretID: auth.Text("secret_id"), hasSecret: auth.Has("secret_id"),
		uses: auth.Value("uses"), ttl: auth.Value("ttl"),
		override: data.Truth(auth.Value("allow_minion_override")),
		backend:  auth.Text("token_backend"), role: m.Text("role_name"),
		refresh: m.Value("policies_refresh_pillar"), cacheTime: m.Value("policies_cache_time"),
		policies: []string{"saltstack/minion/{minion}", "saltstack/minions"},
		keys:     data.TextsOf(m.Value("keys")), location: m.Text("config_location"),
	}
	if c.backend == "" {
		c.backend = "session"
	}
	if list, ok := m.Value("policies").([]any); ok {
		c.policies = data.TextsOf(list)
	}
	return c
}

// Location returns where the connection comes from: "local", "master", or "" if the option
// config_location does not say so.
func (c *Config) Location() string { return c.location }

// Keys returns the keys that unseal the Vault.
func (c *Config) Keys() []string { return c.keys }

// Usable returns what is missing for requests with the configured login.
func (c *Config) Usable() error {
	switch {
	case !c.set:
		return loader.Execution("vault: the option is not set")
	case c.url == "":
		return loader.Execution(missing, "'url'")
	case c.method == "":
		return loader.Execution(missing, "'auth'")
	case c.method == "approle" && c.roleID == "":
		return loader.Execution(missing, "'role_id'")
	case c.method != "approle" && c.token == "":
		return loader.Execution(missing, "'token'")
	}
	return nil
}

// missing is Salt's text for an option without one of its keys.
const missing = `Minion has "vault" config section, but could not find key "%s" within`

// Check returns the findings about the option vault. A master needs all of it; a minion whose master
// issues its tokens may have none. Values sdb://… are checked when they have been looked up.
func Check(opts *data.Map) error {
	v, ok := opts.Get("vault")
	if !ok || v == nil {
		return nil
	}
	m, ok := v.(*data.Map)
	if !ok {
		return &config.Finding{Text: "expected a mapping with url and auth",
			Suggestion: "write vault: {url: https://HOST:8200, auth: {method: token, token: TOKEN}}"}
	}
	if driver := m.Text("driver"); driver != "" && driver != "vault" {
		return nil // a profile of sdb of that name
	}
	k := &checker{}
	k.address(m)
	k.auth(m)
	k.policies(m)
	k.rest(m)
	return k.all()
}

// A checker collects findings.
type checker struct{ errs []error }

func (k *checker) add(err error, path ...any) {
	for i := len(path) - 1; i >= 0; i-- {
		err = config.Below(path[i], err)
	}
	k.errs = append(k.errs, err)
}

func (k *checker) all() error { return errors.Join(k.errs...) }

// text adds a finding for a value that is set and no text.
func (k *checker) text(m *data.Map, example string, path ...any) {
	v := m.Value(path[len(path)-1])
	if _, ok := v.(string); !ok && v != nil {
		k.add(config.Expected("a text", v, example), path...)
	}
}

// truth adds a finding for a value that is set and no truth value.
func (k *checker) truth(m *data.Map, path ...any) {
	v := m.Value(path[len(path)-1])
	if _, ok := v.(bool); !ok && v != nil {
		k.add(config.Expected("True or False", v, ""), path...)
	}
}

// oneOf adds a finding for a value that is set and none of names.
func (k *checker) oneOf(m *data.Map, kind string, names []string, path ...any) {
	v := m.Value(path[len(path)-1])
	if v == nil || fromSDB(v) {
		return
	}
	for _, name := range names {
		if v == name {
			return
		}
	}
	k.add(config.NoSuch(kind, data.Str(v), names, nil), path...)
}

func (k *checker) address(m *data.Map) {
	url, ok := m.Get("url")
	text, isText := url.(string)
	switch {
	case !ok:
	case fromSDB(url):
	case !isText || !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://"):
		k.add(&config.Finding{Text: "expected an address of http or https",
			Suggestion: "write url: https://HOST:8200"}, "url")
	case strings.HasPrefix(text, "http://") && !local(text):
		k.add(config.Doubt(&config.Finding{Text: "tokens and secrets go over the network in the clear",
			Suggestion: "use an address of https"}), "url")
	}
	switch v := m.Value("verify").(type) {
	case nil, bool, string:
	default:
		k.add(config.Expected("True, False, or a file of certificates", v, ""), "verify")
	}
	k.text(m, "", "namespace")
}

// local reports whether an address names this host.
func local(url string) bool {
	host := strings.TrimPrefix(url, "http://")
	for _, own := range []string{"127.0.0.1", "localhost", "[::1]"} {
		if rest, ok := strings.CutPrefix(host, own); ok && (rest == "" || strings.ContainsAny(rest[:1], ":/")) {
			return true
		}
	}
	return false
}

func (k *checker) auth(m *data.Map) {
	v, ok := m.Get("auth")
	auth, isMap := v.(*data.Map)
	if !isMap {
		if ok {
			k.add(&config.Finding{Text: "expected a mapping with method",
				Suggestion: "write auth: {method: token, token: TOKEN}"}, "auth")
		}
		return
	}
	k.oneOf(auth, "method of vault", []string{"approle", "token", "wrapped_token"}, "auth", "method")
	need := map[string]string{"approle": "role_id", "token": "token",
		"wrapped_token": "token"}[auth.Text("method")]
	if need != "" && auth.Text(need) == "" {
		k.add(&config.Finding{Text: need + " is not set, which the method " + auth.Text("method") +
			" needs"}, "auth")
	}
	k.number(auth, "auth", "uses")
	switch v := auth.Value("ttl").(type) {
	case nil, int64, string:
	default:
		k.add(config.Expected("seconds, or a time such as 60m", v, "write ttl: 60m"), "auth", "ttl")
	}
	k.truth(auth, "auth", "allow_minion_override")
	k.oneOf(auth, "token_backend", []string{"disk", "session"}, "auth", "token_backend")
}

// number adds a finding for a value that is set and no whole number from 0 on.
func (k *checker) number(m *data.Map, path ...any) {
	v := m.Value(path[len(path)-1])
	if v == nil || fromSDB(v) {
		return
	}
	if n, ok := v.(int64); !ok || n < 0 {
		k.add(config.Expected("a whole number from 0 on", v, ""), path...)
	}
}

func (k *checker) policies(m *data.Map) {
	v, ok := m.Get("policies")
	if !ok {
		return
	}
	list, isList := v.([]any)
	if !isList {
		k.add(config.Expected("a list of policies", v, "write policies: [saltstack/minions]"), "policies")
		return
	}
	for i, e := range list {
		if err := CheckPattern(data.Str(e)); err != nil {
			k.add(&config.Finding{Text: err.Error(), Cause: err}, "policies",
				config.Entry{Index: i, Value: e})
		}
	}
}

func (k *checker) rest(m *data.Map) {
	k.text(m, "", "role_name")
	k.truth(m, "policies_refresh_pillar")
	k.number(m, "policies_cache_time")
	k.oneOf(m, "config_location", []string{"local", "master"}, "config_location")
	if v, ok := m.Get("keys"); ok {
		if _, isList := v.([]any); !isList {
			k.add(&config.Finding{Text: "expected a list of keys"}, "keys") // the value is a secret
		}
	}
}

func fromSDB(v any) bool {
	text, ok := v.(string)
	return ok && strings.HasPrefix(text, "sdb://")
}
