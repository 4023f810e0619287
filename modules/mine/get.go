package mine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/modules/calls"
)

// cacheKey is the key of the mine in the datastore of a minion without a master.
const cacheKey = "mine_cache"

type getArgs struct {
	Tgt           any
	Fun           any
	TgtType       any  `default:"'glob'"`
	ExcludeMinion bool `default:"False"`
}

// get returns values that minions stored in the mine: the results of a function by minion. For
// several functions, in a list or separated by commas, it returns such a dictionary for each
// function. Values that this minion may not read are omitted.
//
// tgt_type : glob
//
//	The kind of the target. Targets on pillar must match whole values; patterns match only
//	literally.
//
// exclude_minion : False
//
//	Omit this minion's own values.
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
	if m.env.Host.Masters == nil {
		return nil, errors.New("mine.get: no connection to a master")
	}
	reply, err := m.env.Host.Masters.Request(ctx,
		data.NewMap("cmd", "_mine_get", "id", m.env.Option("id"), "tgt", a.Tgt, "fun", a.Fun,
			"tgt_type", a.TgtType))
	if found, ok := reply.(*data.Map); ok && a.ExcludeMinion {
		found.Delete(m.env.Option("id"))
	}
	return reply, err
}

// kinds are the kinds of targets that a minion without a master supports.
var kinds = []string{"glob", "pcre", "list", "grain", "grain_pcre", "ipcidr", "compound", "pillar",
	"pillar_pcre"}

// own returns the values of a minion without a master, if the target matches it.
func (m *module) own(ctx context.Context, a getArgs) (any, error) {
	kind := data.Str(a.TgtType)
	if !slices.Contains(kinds, kind) {
		return nil, loader.Exception("KeyError", "%s", data.Repr(a.TgtType))
	}
	found := data.NewMap()
	named, err := loader.CallAs[bool](ctx, m.env, "match."+kind, []any{a.Tgt}, nil)
	if err != nil || !named {
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

// names returns the functions that fun names.
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

// cache returns the mine of a minion without a master, or nil if there is none.
func (m *module) cache(ctx context.Context) (*data.Map, error) {
	return calls.DataGet[*data.Map](ctx, m.env, cacheKey)
}
