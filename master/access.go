package master

import (
	"cmp"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/transport"
)

// access returns the options by which package auth decides who may do what.
func (p *parts) access(cfg *config.Master) auth.Options {
	all := cfg.Map()
	module, _ := all.Value("eauth_acl_module").(string)
	o := auth.Options{
		User: cfg.User, CacheDir: cfg.CacheDir, TokenDir: cmp.Or(cfg.TokenDir, filepath.Join(cfg.CacheDir, "tokens")), HashType: cfg.HashType,
		PublisherACL: cfg.PublisherACL, Blacklist: cfg.PublisherACLBlacklist, SudoACL: cfg.SudoACL, VerifyClients: cfg.ClientACLVerify,
		ExternalAuth: cfg.ExternalAuth, PermissiveACL: cfg.PermissiveACL, ACLModule: module,
		TokenExpire: cfg.TokenExpire, TokenExpireOverride: cfg.TokenExpireUserOverride, KeepACLInToken: cfg.KeepACLInToken,
		Targets: (&fleet{p.keys, p.data, p.settings}).surely, Quiet: p.quiet.Allow, Now: p.o.Now, Log: p.o.Log,
		RefusalTime: p.o.RefusalTime,
	}
	if p.o.Login != nil {
		o.System = func(name string) (auth.System, error) { return p.o.Login(name, all) }
	}
	return o
}

// surely returns the minions that a compound target names whatever is not known of others: where it asks for grains or pillar,
// only those of which the master has some.
func (f *fleet) surely(tgt string) ([]string, error) {
	ids, _, err := f.resolveAs(tgt, "compound", "", false)
	if err != nil || !slices.ContainsFunc(strings.Fields(tgt), asksForData) {
		return ids, err
	}
	return slices.DeleteFunc(ids, func(id string) bool {
		_, _, known := f.data.Minion(id)
		return !known
	}), nil
}

// asksForData reports whether a word of a compound target is about what minions told of themselves. A node group may be.
func asksForData(word string) bool {
	w := match.ParseWord(strings.TrimLeft(word, "("))
	return w.Engine != "" && w.Engine != "L" && w.Engine != "E"
}

// A gatekeeper logs whom it refused, without a word that the caller chose and that could be a password. No event is fired: who may
// not do something has no say over what is on the bus (Salt fires the load of a refused publish with its key).
type gatekeeper struct {
	*auth.Gate
	quiet *loglimit.Limiter
	log   logrus.FieldLogger
}

// logRefusal logs once a minute for each source, and kind of proof, that it was refused. Salt logs each time.
func (g *gatekeeper) logRefusal(what string, kind auth.Kind, from net.Addr) {
	host := transport.HostOf(from)
	if more, ok := g.quiet.Allow("refusal " + kind.String() + " " + host); ok {
		g.log.Warnf("Authentication failure of type %q occurred: %s of %s, and %d more since the last warning", kind, what, host, more)
	}
}

// refusedPublish is the reply to a publish that is refused.
func refusedPublish(err error) *data.Map {
	if errors.Is(err, auth.ErrNotAuthenticated) {
		return refusal("AuthenticationError", "Authentication error occurred.")
	}
	return refusal("AuthorizationError", "Authorization error occurred.")
}
