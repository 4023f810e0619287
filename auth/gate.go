package auth

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// Options configure a Gate. Most are options of the master.
type Options struct {
	User     string // user: the account of the master
	CacheDir string // cachedir: directory of the key files
	TokenDir string // token_dir
	HashType string // hash_type: determines the length of tokens

	PublisherACL  *data.Map // publisher_acl
	Blacklist     *data.Map // publisher_acl_blacklist
	SudoACL       bool      // sudo_acl
	VerifyClients bool      // client_acl_verify
	ExternalAuth  *data.Map // external_auth
	PermissiveACL bool      // permissive_acl
	ACLModule     string    // eauth_acl_module

	TokenExpire time.Duration // token_expire
	// token_expire_user_override: true, or a map of systems to lists of users
	TokenExpireOverride any
	KeepACLInToken      bool // keep_acl_in_token

	// System returns the named external_auth system. If the function is nil, there are none.
	System func(name string) (System, error)
	// Targets returns the minions that a compound target of a rule matches. Minions unknown to the
	// master are not included.
	Targets func(tgt string) ([]string, error)
	// Quiet limits log lines per subject, so that nobody can flood the log. It reports whether to
	// log now, and how many lines were skipped since the last one. nil means no limit.
	Quiet func(subject string) (skipped int, ok bool)
	Now   func() time.Time // nil means time.Now
	Log   logrus.FieldLogger

	RefusalTime time.Duration // approximate minimum duration of a refused login; 0 means a second
}

// A Gate authenticates and authorizes the users of one master. It is safe for concurrent use.
type Gate struct {
	log    logrus.FieldLogger
	now    func() time.Time
	held   atomic.Pointer[held]
	keys   *keys
	tokens *Tokens
	pace   *pace
}

// held is the configuration of a Gate until its options change.
type held struct {
	Options
	blacklist  blacklist
	acl        []userRules
	expansions *expansions

	mu      sync.Mutex
	systems map[string]System
}

// userRules are the rights for one expression of publisher_acl.
type userRules struct {
	who nameExpr
	rules
}

// New returns a Gate. Like each start of a master, it creates new key files for all users who may
// submit jobs.
func New(o Options) (*Gate, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	g := &Gate{log: o.Log, now: o.Now, keys: newKeys(o.CacheDir, o.Log),
		pace: newPace(cmp.Or(o.RefusalTime, leastPause))}
	var err error
	if g.tokens, err = OpenTokens(o.TokenDir, o.HashType, o.Now); err != nil {
		return nil, err
	}
	if err := g.SetOptions(o); err != nil {
		return nil, err
	}
	return g, nil
}

// SetOptions replaces the options. Key files are created for users who gain rights and removed for
// users who lose them. Directories, hash type, clock and RefusalTime do not change. Invalid rules
// are logged and allow nothing.
func (g *Gate) SetOptions(o Options) error {
	h := &held{Options: o, blacklist: newBlacklist(o.Blacklist), systems: map[string]System{},
		expansions: newExpansions()}
	if err := g.keys.renew(o); err != nil {
		return err
	}
	for expr, list := range o.PublisherACL.All() {
		found, _ := parseRules(list) // warnOfRules logs the error
		h.acl = append(h.acl, userRules{newNameExpr(data.Str(expr)), found})
	}
	g.warnOfRules("publisher_acl", o.PublisherACL)
	for system, users := range o.ExternalAuth.All() {
		if m, ok := users.(*data.Map); ok {
			g.warnOfRules("external_auth: "+data.Str(system), m)
		}
		if _, err := h.system(data.Str(system)); err != nil {
			g.log.WithError(err).Infof("external_auth: nobody can log in through %s",
				data.Str(system))
		}
	}
	g.held.Store(h)
	return nil
}

func (g *Gate) warnOfRules(option string, users *data.Map) {
	for name, list := range users.All() {
		if isSetting(data.Str(name)) {
			continue
		}
		if _, err := parseRules(list); err != nil {
			g.log.WithError(err).Warnf("%s: rules of %s allow nothing where they cannot be read",
				option, data.Str(name))
		}
	}
}

// Identify authenticates a request and returns its sender with their rights. The error is a
// *[Refusal] that wraps ErrNotAuthenticated. It is the same for all causes, and all refused logins
// take about the same time.
func (g *Gate) Identify(ctx context.Context, c Credentials) (*Identity, error) {
	h := g.held.Load()
	switch c.Kind {
	case ByToken:
		return g.byToken(ctx, h, c)
	case ByEauth:
		return g.byLogin(ctx, h, c)
	}
	return g.byKey(h, c)
}

// byKey authenticates with a user's key file (salt/auth/__init__.py, check_authentication).
func (g *Gate) byKey(h *held, c Credentials) (*Identity, error) {
	who, ok := g.keys.prove(c)
	if !ok {
		return nil, notAuthenticated(c)
	}
	i := &Identity{Name: who.name, Kind: ByKey, gate: g}
	switch {
	case who.full:
		i.full = true
	case who.sudo && (!h.SudoACL || h.PublisherACL.Len() == 0):
		i.full, i.Name = true, h.User
	default:
		i.rules = h.ofUser(who.name)
		if len(i.rules) == 0 {
			return nil, notAuthenticated(c)
		}
	}
	return i, nil
}

// ofUser returns the rights of a user of the master's host (salt/utils/master.py,
// get_values_of_matching_keys).
func (h *held) ofUser(name string) rules {
	var all rules
	for _, entry := range h.acl {
		if entry.who.match(name) {
			all = append(all, entry.rules...)
		}
	}
	return all
}

// Watches reports whether a user of the master's host may read all events: their rules in
// publisher_acl include '@events'. Other users read only events of their own jobs. Salt has no such
// right: everyone who can connect to the bus reads everything.
func (g *Gate) Watches(name string) bool {
	return slices.ContainsFunc(g.held.Load().ofUser(name),
		func(r rule) bool { return r.every && r.form == "events" })
}

// Blocked reports whether publisher_acl_blacklist forbids a user or function for everybody. It is
// checked first with the claimed user name, and again with the authenticated one.
func (g *Gate) Blocked(user string, fun any) bool {
	return g.held.Load().blacklist.blocks(user, fun)
}

// warn logs events that a caller can trigger at will, limited by Quiet.
func (g *Gate) warn(subject string, err error, text string) {
	h := g.held.Load()
	if h.Quiet == nil {
		g.log.WithError(err).Warn(text)
		return
	}
	if skipped, ok := h.Quiet(subject); ok {
		g.log.WithError(err).Warnf("%s (and %d more since the last warning)", text, skipped)
	}
}

// targets reports whether tgt matches all minions. The list must not be empty.
func (g *Gate) targets(tgt string, minions []string) bool {
	if len(minions) == 0 {
		return false
	}
	named, err := g.held.Load().Targets(tgt)
	if err != nil {
		g.warn("target "+tgt, err, "the target "+tgt+" of a rule allows nothing")
		return false
	}
	have := make(map[string]bool, len(named))
	for _, id := range named {
		have[id] = true
	}
	return !slices.ContainsFunc(minions, func(id string) bool { return !have[id] })
}

// system returns the named external_auth system.
func (h *held) system(name string) (System, error) {
	if name == KeySystem {
		return nil, errKeySystem
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.systems[name]; s != nil {
		return s, nil
	}
	if !h.ExternalAuth.Has(name) {
		return nil, fmt.Errorf("The eauth system %q is not enabled", name) //nolint:staticcheck // Salt's text
	}
	if h.System == nil {
		return nil, fmt.Errorf("external_auth: unknown system %s", name)
	}
	s, err := h.System(name)
	if err != nil {
		return nil, fmt.Errorf("external_auth: %s: %w", name, err)
	}
	h.systems[name] = s
	return s, nil
}
