package netapi

import (
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

// ReadsAll reports whether a caller may read all events: where the door is not limited to own events, and
// for users whose rights in external_auth have '.*' or '@events'.
func (g *Gate) ReadsAll(c Caller) bool {
	if !g.Door.OwnEvents {
		return true
	}
	t, err := g.credentials.find(c.Token)
	if err != nil {
		return false
	}
	rights := g.Rights(t)
	return slices.Contains(rights, any(".*")) || slices.Contains(rights, any("@events"))
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
