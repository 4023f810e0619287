package netapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

// restSystem is the system of external_auth that asks a service for the rights of a user.
const restSystem = "rest"

// Perms returns the rights that the answer to a login lists: those of the user, of '*' and of the user's
// groups in external_auth. Each is there once. Texts come first, sorted; then the others, by their Python
// text. Without rights it is an empty dictionary. For the system rest it is the list that the service has
// sent, which is in the token. All this is as in Salt (salt/netapi/rest_cherrypy/app.py, Login.POST).
func (g *Gate) Perms(t Token) any {
	if t.Eauth == restSystem && len(t.Rights) > 0 {
		return t.Rights
	}
	system, _ := g.External.Value(t.Eauth).(*data.Map)
	names := []string{t.User, "*"}
	for _, group := range t.Groups {
		names = append(names, group+"%")
	}
	var texts []string
	others := map[string]any{}
	for _, name := range names {
		list, _ := system.Value(name).([]any)
		for _, right := range list {
			if s, ok := right.(string); ok {
				texts = append(texts, s)
			} else {
				others[data.Repr(right)] = right
			}
		}
	}
	if len(texts)+len(others) == 0 {
		return data.NewMap()
	}
	slices.Sort(texts)
	all := data.Values(slices.Compact(texts))
	keys := make([]string, 0, len(others))
	for key := range others {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, strings.Compare)
	for _, key := range keys {
		all = append(all, others[key])
	}
	return all
}

// ReadsAll reports whether a caller may read all events: users where the door is not limited to own
// events, and otherwise users and API keys whose rights have '.*' or '@events'.
func (g *Gate) ReadsAll(c Caller) bool {
	t, err := g.credentials.find(c.Token)
	if t.Eauth != auth.KeySystem && !g.Door.OwnEvents {
		return true
	}
	return err == nil && g.hasAny(t, ".*", "@events")
}

// MayFire returns a *Fault if a caller must not fire the events of hooks: an API key without the right '.*'
// or '@hooks'. As in Salt, users need no right for that.
func (g *Gate) MayFire(c Caller) error {
	t, err := g.credentials.find(c.Token)
	if err != nil || t.Eauth != auth.KeySystem || g.hasAny(t, ".*", "@hooks") {
		return nil
	}
	return fault(http.StatusForbidden, "The API key has no right to hooks: it needs '@hooks'")
}

func (g *Gate) hasAny(t Token, rights ...string) bool {
	return slices.ContainsFunc(g.Rights(t), func(r any) bool {
		text, _ := r.(string)
		return slices.Contains(rights, text)
	})
}

// Rights returns the rights that the master looks at for the user of a token: those of the token itself,
// where keep_acl_in_token is on and for API keys, or those of external_auth. The rights of '*' count for
// users without their own, or with permissive_acl.
func (g *Gate) Rights(t Token) []any {
	if t.Rights != nil && (g.KeepACLInToken || t.Eauth == auth.KeySystem) {
		return t.Rights
	}
	system, _ := g.External.Value(t.Eauth).(*data.Map)
	return auth.RightsOf(system, t.User, t.Groups, g.Permissive)
}
