package master

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/transport"
)

// access returns the options of package auth.
func (p *parts) access(cfg *config.Master) auth.Options {
	all := cfg.Map()
	module, _ := all.Value("eauth_acl_module").(string)
	o := auth.Options{
		User:                cfg.User,
		CacheDir:            cfg.CacheDir,
		TokenDir:            cmp.Or(cfg.TokenDir, filepath.Join(cfg.CacheDir, "tokens")),
		HashType:            cfg.HashType,
		PublisherACL:        cfg.PublisherACL,
		Blacklist:           cfg.PublisherACLBlacklist,
		SudoACL:             cfg.SudoACL,
		VerifyClients:       cfg.ClientACLVerify,
		ExternalAuth:        cfg.ExternalAuth,
		PermissiveACL:       cfg.PermissiveACL,
		ACLModule:           module,
		TokenExpire:         cfg.TokenExpire,
		TokenExpireOverride: cfg.TokenExpireUserOverride,
		KeepACLInToken:      cfg.KeepACLInToken,
		Targets:             p.fleet().certain,
		Quiet:               p.quiet.Allow,
		Now:                 p.now,
		Log:                 p.log,
		RefusalTime:         p.o.RefusalTime,
	}
	if p.o.Login == nil && p.own == nil {
		return o
	}
	o.System = func(name string) (auth.System, error) {
		if s, ok := p.own.login(name, all); ok {
			return s, nil
		}
		if p.o.Login == nil {
			return nil, fmt.Errorf("unknown system %s", name)
		}
		return p.o.Login(name, all)
	}
	return o
}

// certain returns the minions that a compound target names regardless of missing data. If the
// target asks for grains or pillar, only minions whose data the master has are returned.
func (f *fleet) certain(tgt string) ([]string, error) {
	ids, _, err := f.resolveAs(tgt, "compound", "", false)
	if err != nil || !match.AsksForData(tgt, "compound") {
		return ids, err
	}
	return slices.DeleteFunc(ids, func(id string) bool {
		_, _, known := f.data.Minion(id)
		return !known
	}), nil
}

// A gatekeeper logs refusals. It logs nothing that the caller chose and that could be a password.
// It fires no event: unauthorized callers have no influence on the bus (Salt fires the load of a
// refused publish together with its key).
type gatekeeper struct {
	*auth.Gate
	quiet *loglimit.Limiter
	log   logrus.FieldLogger
}

// logRefusal logs a refusal, at most once a minute for each source and kind of proof. Salt logs
// each one.
func (g *gatekeeper) logRefusal(what string, kind auth.Kind, from net.Addr) {
	host := transport.HostOf(from)
	if more, ok := g.quiet.Allow("refusal " + kind.String() + " " + host); ok {
		g.log.Warnf("Authentication failure of type %q occurred: %s of %s, and %d more since the last warning",
			kind, what, host, more)
	}
}

// refusedPublish returns the reply to a publish that is refused.
func refusedPublish(err error) *data.Map {
	if errors.Is(err, auth.ErrNotAuthenticated) {
		return refusal("AuthenticationError", "Authentication error occurred.")
	}
	return refusal("AuthorizationError", "Authorization error occurred.")
}
