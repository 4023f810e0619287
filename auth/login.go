package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// byLogin authenticates with an external_auth system.
func (g *Gate) byLogin(ctx context.Context, h *held, c Credentials) (*Identity, error) {
	i := &Identity{Kind: ByEauth, gate: g}
	ok := g.pace.run(ctx, c, func(ctx context.Context) bool {
		s, l, ok := g.login(ctx, h, c)
		if ok {
			i.Name = l.Name
			i.rules = h.rightsOf(ctx, g, c.Eauth, s, l, nil)
		}
		return ok
	})
	if !ok {
		return nil, notAuthenticated(c)
	}
	return i, nil
}

func loginOf(c Credentials) Login {
	return Login{Name: c.Fields.Text("username"), Password: c.Fields.Text("password")}
}

// login checks a login with the system that c names, and returns it with the system's spelling of
// the user name. The reason of a refusal is only logged.
func (g *Gate) login(ctx context.Context, h *held, c Credentials) (System, Login, bool) {
	l := loginOf(c)
	s, err := h.system(c.Eauth)
	if err == nil {
		err = l.check()
	}
	ok := false
	if err == nil {
		ok, err = s.Login(ctx, l)
	}
	typed := l.Name
	if err == nil && ok {
		l.Name, err = canonical(ctx, s, l)
	}
	if err != nil {
		g.warn("login", err, fmt.Sprintf("login of user %q at %q", clip(typed), clip(c.Eauth)))
	}
	return s, l, ok && err == nil
}

// canonical returns the system's spelling of the name of a logged-in user.
func canonical(ctx context.Context, s System, l Login) (string, error) {
	n, ok := s.(Namer)
	if !ok {
		return l.Name, nil
	}
	name, err := n.Name(ctx, l)
	if err == nil {
		err = Login{name, l.Password}.check()
	}
	return name, err
}

const (
	maxName     = 255
	maxPassword = 4096
)

// check rejects logins that no system should receive, such as those with an empty password: LDAP
// servers accept them as anonymous binds.
func (l Login) check() error {
	control := func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }
	switch {
	case l.Name == "" || l.Password == "":
		return errors.New("a name and a password are needed")
	case len(l.Name) > maxName || len(l.Password) > maxPassword:
		return errors.New("the name or the password is too long")
	case strings.ContainsFunc(l.Name, control) || strings.ContainsRune(l.Password, 0):
		return errors.New("the name or the password has control characters")
	}
	return nil
}

func clip(s string) string {
	if len(s) > maxName {
		return s[:maxName] + "…"
	}
	return s
}

// rightsOf returns the rights of a user of a system. groups are those stored in a token; at a login
// with a password they are queried (salt/auth/__init__.py, get_auth_list).
func (h *held) rightsOf(
	ctx context.Context, g *Gate, name string, s System, l Login, groups []string,
) rules {
	list, own := h.ownRules(ctx, g, s, l)
	if !own {
		if l.Password != "" {
			groups = groupsOf(ctx, g, s, l)
		}
		users, _ := h.ExternalAuth.Value(name).(*data.Map)
		list = RightsOf(users, l.Name, groups, h.PermissiveACL)
	}
	if e, ok := s.(Expander); ok {
		expanded, err := h.expansions.of(ctx, g.now, name, e, list)
		if err != nil {
			g.warn("expand", err, fmt.Sprintf("expand the rights of user %q", l.Name))
		} else {
			list = expanded
		}
	}
	all, _ := parseRules(list)
	return all
}

// ownRules returns the rights that the system itself, or the one named by eauth_acl_module,
// assigns.
func (h *held) ownRules(ctx context.Context, g *Gate, s System, l Login) (list []any, ok bool) {
	if h.ACLModule != "" {
		other, err := h.system(h.ACLModule)
		if err != nil {
			g.warn("eauth_acl_module", err, "eauth_acl_module")
			return nil, false
		}
		s = other
	}
	r, isRuler := s.(Ruler)
	if !isRuler || l.Password == "" {
		return nil, false
	}
	list, ok, err := r.Rules(ctx, l)
	if err != nil {
		g.warn("rights", err, fmt.Sprintf("rights of user %q", l.Name))
	}
	return list, ok && err == nil
}

func groupsOf(ctx context.Context, g *Gate, s System, l Login) []string {
	grouper, ok := s.(Grouper)
	if !ok {
		return nil
	}
	groups, err := grouper.Groups(ctx, l)
	if err != nil {
		g.warn("groups", err, fmt.Sprintf("groups of user %q", l.Name))
		return nil
	}
	return groups
}

// RightsOf returns the rights under a user's name and their groups, which end in %. The rights under
// * are added if there are none under the name, or permissive_acl is on (salt/utils/minions.py,
// fill_auth_list).
func RightsOf(users *data.Map, name string, groups []string, permissive bool) []any {
	var list []any
	named := false
	for k, v := range users.All() {
		entry := data.Str(k)
		group, isGroup := strings.CutSuffix(entry, "%")
		switch {
		case isSetting(entry) || entry == "*":
		case isGroup && slices.Contains(groups, group):
			list = append(list, data.ListOf(v)...)
		case !isGroup && entry == name:
			named = true
			list = append(list, data.ListOf(v)...)
		}
	}
	if permissive || !named {
		list = append(list, data.ListOf(users.Value("*"))...)
	}
	return list
}
