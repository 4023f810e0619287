package auth

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// A blacklist is publisher_acl_blacklist (salt/acl/__init__.py).
type blacklist struct{ users, modules []string }

func newBlacklist(m *data.Map) blacklist {
	return blacklist{users: names(m.Value("users")), modules: names(m.Value("modules"))}
}

// names returns the elements of a list as texts, or those of a map by their names.
func names(list any) []string {
	var all []string
	if m, ok := list.(*data.Map); ok {
		for _, k := range m.Keys() {
			all = append(all, data.Str(k))
		}
		return all
	}
	for _, v := range items(list) {
		all = append(all, data.Str(v))
	}
	return all
}

func (b blacklist) blocks(user string, fun any) bool {
	return matchAny(b.users, user) || len(b.modules) > 0 && b.blocksFun(fun)
}

// blocksFun looks at each name in fun. What is no name and no list of them cannot be looked at, and is blocked.
func (b blacklist) blocksFun(fun any) bool {
	switch fun := fun.(type) {
	case string:
		return matchAny(b.modules, fun)
	case []any:
		return slices.ContainsFunc(fun, b.blocksFun)
	}
	return true
}

func matchAny(exprs []string, s string) bool {
	return slices.ContainsFunc(exprs, func(e string) bool { return nameMatch(e, s) })
}
