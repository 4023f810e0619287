package mine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/mine"
)

// cacheKey is where the datastore of a minion without a master has its mine.
const cacheKey = "mine_cache"

type getArgs struct {
	Tgt           any
	Fun           any
	TgtType       any  `default:"'glob'"`
	ExcludeMinion bool `default:"False"`
}

// get returns what minions have put into the mine: the results of a function by minion. Several functions, in a list or a text with
// commas between, give such a dictionary for each function. What this minion may not read is left out.
//
// tgt_type : glob
//
//	The kind of the target. A target that asks for pillar is compared by whole values, and a pattern in it matches itself alone.
//
// exclude_minion : False
//
//	Leave out what this minion itself has put there.
//
// CLI Example:
//
//	salt '*' mine.get '*' network.interfaces
//	salt '*' mine.get 'os:Fedora' network.interfaces grain
//	salt '*' mine.get 'G@os:Fedora and S@192.168.5.0/24' network.ipaddrs compound
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	if m.local() {
		return m.own(ctx, a)
	}
	if m.env.Host.Request == nil {
		return nil, errors.New("mine.get: there is no connection to a master")
	}
	reply, err := m.env.Host.Request(ctx, data.NewMap("cmd", "_mine_get", "id", m.env.Option("id"), "tgt", a.Tgt, "fun", a.Fun, "tgt_type", a.TgtType))
	if found, ok := reply.(*data.Map); ok && a.ExcludeMinion {
		found.Delete(m.env.Option("id"))
	}
	return reply, err
}

// kinds are those of targets that a minion without a master knows.
var kinds = []string{"glob", "pcre", "list", "grain", "grain_pcre", "ipcidr", "compound", "pillar", "pillar_pcre"}

// own returns what a minion without a master has kept, where the target names it.
func (m *module) own(ctx context.Context, a getArgs) (any, error) {
	kind := data.Str(a.TgtType)
	if !slices.Contains(kinds, kind) {
		return nil, loader.Exception("KeyError", "%s", data.Repr(a.TgtType))
	}
	found := data.NewMap()
	named, err := m.env.Call(ctx, "match."+kind, []any{a.Tgt}, nil)
	if err != nil || !data.Truth(named) {
		return found, err
	}
	kept, err := m.cache(ctx)
	if err != nil {
		return nil, err
	}
	id := m.env.Option("id")
	functions, several := names(a.Fun)
	for _, fun := range functions {
		if !data.Hashable(fun) || !kept.Has(fun) {
			continue
		}
		v := mine.Unwrap(kept.Value(fun))
		if several {
			found.Set(fun, data.NewMap(id, v))
		} else {
			found.Set(id, v)
		}
	}
	return found, nil
}

// names returns the functions that fun asks for.
func names(fun any) (all []any, several bool) {
	switch fun := fun.(type) {
	case string:
		for name := range strings.SplitSeq(fun, ",") {
			if !slices.Contains(all, any(name)) {
				all = append(all, name)
			}
		}
		return all, len(all) > 1
	case []any:
		return fun, true
	}
	return nil, false
}

// cache returns the mine of a minion without a master, nil when there is none.
func (m *module) cache(ctx context.Context) (*data.Map, error) {
	v, err := m.env.Call(ctx, "data.get", []any{cacheKey}, nil)
	kept, _ := v.(*data.Map)
	return kept, err
}
