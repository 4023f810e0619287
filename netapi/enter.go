package netapi

import (
	"net/http"
	"net/netip"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

// Key returns who sends a request with an API key. The error is a *Fault: it is none, or its user may
// not come from that address (api_acl).
func (g *Gate) Key(secret string, from netip.Addr) (Caller, error) {
	t, err := g.credentials.find(secret)
	switch {
	case err != nil, t.Eauth != auth.KeySystem:
		return Caller{}, g.credentials.refuse(secret, textNoSession)
	case !g.Door.ACL.Allows(t.User, from):
		return Caller{}, elsewhere(t)
	}
	return Caller{Token: t.Value, User: t.User, From: from}, nil
}

// A Proven user has logged in elsewhere: at a provider of OpenID Connect.
type Proven struct {
	User   string
	Groups []string
	Old    string // id of a session that the client has, which ends
}

// Enter makes a session for a user who has logged in at a provider, with a token as the master itself
// writes them. The error is a *Fault: the user may not come from there (api_acl), or the token cannot
// be stored.
func (g *Gate) Enter(who Proven, from netip.Addr) (*Session, error) {
	s, err := g.enter(who, from)
	g.Audit.login(who.User, from, err)
	return s, err
}

func (g *Gate) enter(who Proven, from netip.Addr) (*Session, error) {
	if !g.Door.ACL.Allows(who.User, from) {
		return nil, fault(http.StatusUnauthorized, textNoSession)
	}
	now := auth.Seconds(g.Now())
	m := data.NewMap("start", now, "expire", now+g.TokenExpire.Seconds(), "name", who.User, "eauth", auth.OIDCSystem)
	if len(who.Groups) > 0 {
		m.Set("groups", data.Values(who.Groups))
	}
	if err := g.Tokens.Add(m); err != nil {
		return nil, because(http.StatusInternalServerError, err, "The token cannot be stored")
	}
	t, ok := tokenOf(m)
	if !ok {
		return nil, fault(http.StatusInternalServerError, "The token cannot be stored")
	}
	return g.begin(t, who.Old), nil
}
