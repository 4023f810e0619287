package auth

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// A Standing records an authenticated user, so that their rights can be checked again later. It
// contains nothing that could be used to authenticate.
type Standing struct {
	Name   string
	Kind   Kind
	Full   bool     // the user had all rights
	System string   // of external_auth
	Groups []string // groups in that system at the time of authentication
	ACL    any      // rights stored in the token (keep_acl_in_token), or nil
	Key    string   // of an API key: the file of the token store
}

// Stand returns the record of the user whom c authenticates. [Gate.Identify] must have accepted c
// before. It fails if a key or token has become invalid since.
func (g *Gate) Stand(ctx context.Context, c Credentials) (Standing, error) {
	h := g.held.Load()
	switch c.Kind {
	case ByToken:
		m, err := g.tokens.Get(c.Token)
		if err != nil {
			return Standing{}, notAuthenticated(c)
		}
		if m.Text("eauth") == KeySystem {
			return Standing{Name: m.Text("name"), Kind: ByToken, System: KeySystem, Key: fileOfKey(c.Token)}, nil
		}
		return Standing{Name: m.Text("name"), Kind: ByToken, System: m.Text("eauth"),
			Groups: names(m.Value("groups")), ACL: m.Value("auth_list")}, nil
	case ByEauth:
		s, err := h.system(c.Eauth)
		if err != nil {
			return Standing{}, notAuthenticated(c)
		}
		ctx, cancel := context.WithTimeout(ctx, loginLimit)
		defer cancel()
		l := loginOf(c)
		if l.Name, err = canonical(ctx, s, l); err != nil {
			return Standing{}, notAuthenticated(c)
		}
		return Standing{Name: l.Name, Kind: ByEauth, System: c.Eauth,
			Groups: groupsOf(ctx, g, s, l)}, nil
	}
	who, err := g.byKey(h, c)
	if err != nil {
		return Standing{}, err
	}
	return Standing{Name: who.Name, Kind: ByKey, Full: who.full}, nil
}

// Now returns the user with their current rights. The error wraps ErrNotAuthenticated if the user
// has no rights any more: neither publisher_acl nor external_auth names them. Rights that a system
// assigns at a login are not included, since they require the password.
func (g *Gate) Now(ctx context.Context, s Standing) (*Identity, error) {
	h := g.held.Load()
	i := &Identity{Name: s.Name, Kind: s.Kind, gate: g, full: s.Full}
	switch {
	case s.Full:
		return i, nil
	case s.Kind == ByKey:
		i.rules = h.ofUser(s.Name)
	case s.System == KeySystem:
		m, _, err := g.tokens.load(s.Key)
		if err != nil || m.Text("eauth") != KeySystem || m.Text("name") != s.Name {
			return nil, notAuthenticated(Credentials{Kind: s.Kind})
		}
		i = g.ofKey(m)
	default:
		system, err := h.system(s.System)
		if err != nil {
			return nil, notAuthenticated(Credentials{Kind: s.Kind})
		}
		if s.ACL != nil && h.KeepACLInToken {
			i.rules, _ = parseRules(s.ACL)
			break
		}
		ctx, cancel := context.WithTimeout(ctx, loginLimit)
		defer cancel()
		i.rules = h.rightsOf(ctx, g, s.System, system, Login{Name: s.Name}, s.Groups)
	}
	if len(i.rules) == 0 {
		return nil, notAuthenticated(Credentials{Kind: s.Kind})
	}
	return i, nil
}

// Marshal encodes s for [ParseStanding].
func (s Standing) Marshal() ([]byte, error) {
	return payload.Marshal(data.NewMap("name", s.Name, "kind", int64(s.Kind), "full", s.Full,
		"system", s.System, "groups", data.Values(s.Groups), "acl", s.ACL, "key", s.Key))
}

// ParseStanding decodes the result of Marshal. It fails for anything else.
func ParseStanding(raw []byte) (Standing, error) {
	v, err := payload.Unmarshal(raw, payload.WireLimits())
	m, ok := v.(*data.Map)
	kind, known := m.Value("kind").(int64)
	if err != nil || !ok || !known || m.Text("name") == "" || kind < int64(ByKey) ||
		kind > int64(ByEauth) {
		return Standing{}, fmt.Errorf("read who ordered a job: it is no such record: %v", err) //nolint:errorlint // it says what is wrong; the cause is ours alone
	}
	return Standing{Name: m.Text("name"), Kind: Kind(kind), Full: m.Value("full") == true,
		System: m.Text("system"), Groups: names(m.Value("groups")), ACL: m.Value("acl"), Key: m.Text("key")}, nil
}
