package manage

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/runners"
)

type fleetArgs struct {
	Tgt       any `default:"'*'"`
	TgtType   any `default:"'glob'"`
	After     any `default:"''"`
	Limit     int `default:"100"`
	Grains    any `default:"None"`
	Connected any `default:"None"`
}

// mostFleet limits the minions of one page.
const mostFleet = 1000

// fleet returns a page of the minions with an accepted key, sorted by id, without contacting them:
// whether each is connected, since when, from which address, and some of its cached grains. Salt has no
// such function.
//
// total and connected count all minions of the target, whatever connected and after say. next is the
// last id of the page if there are more minions, else None. since is a time in seconds, None for a
// minion that is not connected or if it is unknown. address is where the connection comes from, or else
// the first address among the grains.
//
// A target on pillar is refused, also one in a node group: whoever may list minions could find the
// values of a pillar by trying.
//
// after
//
//	The page begins after this id.
//
// limit
//
//	The most minions of the page, at most 1000.
//
// grains
//
//	The names of the grains to return. A name such as systemd:version is a path.
//
// connected
//
//	True returns only minions that are connected, False only the others.
//
// CLI Example:
//
//	salt-run manage.fleet
//	salt-run manage.fleet tgt='G@os:Debian' tgt_type=compound grains='[osfinger]' connected=False
func (m *module) fleet(_ context.Context, a fleetArgs) (any, error) {
	if a.Limit < 1 || a.Limit > mostFleet {
		return nil, loader.Invocation("limit must be a number from 1 to %d", mostFleet)
	}
	there, err := m.connectionsNow()
	if err != nil {
		return nil, err
	}
	known, err := runners.Fleet(m.env.Opts, m.needs.Keys, m.needs.Bank, true)
	if err != nil {
		return nil, err
	}
	if known.AsksForPillar(a.Tgt, data.Str(a.TgtType), ":") {
		return nil, loader.Invocation("minions cannot be listed by their pillar (the kinds pillar, I@ and J@): " +
			"it holds secrets, which could be found by trying")
	}
	ids, _, err := known.Resolve(a.Tgt, data.Str(a.TgtType), ":")
	if err != nil {
		return nil, loader.Invocation("the target cannot be used: %w", err)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	count := 0
	for _, id := range ids {
		if _, ok := there[id]; ok {
			count++
		}
	}
	ret := data.NewMap("total", int64(len(ids)), "connected", int64(count))
	page, more := pageOf(ids, a, func(id string) bool { _, ok := there[id]; return ok })
	list := make([]any, len(page))
	for i, id := range page {
		list[i] = m.member(id, there, loader.SplitList(a.Grains))
	}
	ret.Set("minions", list)
	ret.Set("next", nil)
	if more {
		ret.Set("next", page[len(page)-1])
	}
	return ret, nil
}

// pageOf returns the ids of a page, and whether there are more after it.
func pageOf(ids []string, a fleetArgs, connected func(id string) bool) (page []string, more bool) {
	after := data.Str(a.After)
	begin := sort.Search(len(ids), func(i int) bool { return after == "" || a.After == nil || ids[i] > after })
	for _, id := range ids[begin:] {
		if a.Connected != nil && connected(id) != data.Truth(a.Connected) {
			continue
		}
		if len(page) == a.Limit {
			return page, true
		}
		page = append(page, id)
	}
	return page, false
}

// connectionsNow returns the connected minions and what is known about their connections.
func (m *module) connectionsNow() (map[string]presence.Connection, error) {
	if m.needs.Connections != nil {
		if all, err := m.needs.Connections(); err == nil {
			return all, nil
		}
	}
	ids, err := m.connections(nil)
	if err != nil {
		return nil, err
	}
	all := make(map[string]presence.Connection, len(ids))
	for _, id := range ids {
		all[id] = presence.Connection{}
	}
	return all, nil
}

// member returns what a page shows of a minion.
func (m *module) member(id string, there map[string]presence.Connection, names []string) *data.Map {
	c, connected := there[id]
	cached := m.cachedGrains(id)
	one := data.NewMap("id", id, "connected", connected, "since", seconds(c.Since), "address", nil)
	if c.Host != "" {
		one.Set("address", c.Host)
	} else {
		one.Set("address", addressIn(cached))
	}
	grains := data.NewMap()
	for _, name := range names {
		if v, ok := data.Lookup(cached, name, ":"); ok {
			grains.Set(name, v)
		}
	}
	one.Set("grains", grains)
	return one
}

func seconds(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.Unix()
}
