package auth

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// A blacklist is a parsed publisher_acl_blacklist (salt/acl/__init__.py).
type blacklist struct{ users, modules nameExprs }

func newBlacklist(m *data.Map) blacklist {
	return blacklist{users: newNameExprs(names(m.Value("users"))),
		modules: newNameExprs(names(m.Value("modules")))}
}

// names returns the elements of a list as strings, or the keys of a map.
func names(list any) []string {
	var all []string
	if m, ok := list.(*data.Map); ok {
		for _, k := range m.Keys() {
			all = append(all, data.Str(k))
		}
		return all
	}
	for _, v := range data.ListOf(list) {
		all = append(all, data.Str(v))
	}
	return all
}

const (
	// limits for comparison with a blacklist: functions of a job, and bytes of a name
	maxListed = 1024
)

func (b blacklist) blocks(user string, fun any) bool {
	n := 0
	return len(b.users) > 0 && (len(user) > maxListed || b.users.match(user)) ||
		len(b.modules) > 0 && b.blocksFun(fun, &n)
}

// blocksFun checks each name in fun. It blocks values other than names and lists of names, and
// values that exceed maxListed.
func (b blacklist) blocksFun(fun any, n *int) bool {
	switch fun := fun.(type) {
	case string:
		*n++
		return *n > maxListed || len(fun) > maxListed || b.modules.match(fun)
	case []any:
		return slices.ContainsFunc(fun, func(f any) bool { return b.blocksFun(f, n) })
	}
	return true
}
