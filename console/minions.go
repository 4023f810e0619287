package console

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/netapi"
)

// minions are those of the master, as far as one user may see them.
type minions struct{ ask *asker }

// roster returns a page of the minions. Brine's master has one function for it; of Salt's it is put
// together from several.
func (ms minions) roster(a rosterAsk) (*roster, error) {
	m, err := ms.ask.runnerMap(fleetRunner, "tgt", a.tgt, "tgt_type", a.kind, "after", a.after,
		"limit", int64(a.limit), "grains", data.Values(a.grains), "connected", a.connected)
	switch {
	case errors.Is(err, errNoFunction):
		return ms.rosterOfSalt(a)
	case refused(err): // a master of Salt refuses what it lacks to users with some rights only
		if r, other := ms.rosterOfSalt(a); other == nil {
			return r, nil
		}
	}
	if err != nil {
		return nil, err
	}
	r := &roster{total: number(m.Value("total")), connected: number(m.Value("connected")),
		next: data.Str(orEmpty(m.Value("next")))}
	for _, v := range data.ListOf(m.Value("minions")) {
		one, ok := v.(*data.Map)
		if !ok {
			continue
		}
		grains, _ := one.Value("grains").(*data.Map)
		seat := member{id: one.Text("id"), connected: data.Truth(one.Value("connected")),
			address: data.Str(orEmpty(one.Value("address"))), grains: grains}
		if at := number(one.Value("since")); at > 0 {
			seat.since = time.Unix(int64(at), 0)
		}
		r.members = append(r.members, seat)
	}
	return r, nil
}

// rosterOfSalt puts a roster together from functions that Salt's master has. A target on grains then
// costs the grains of all minions that it matches.
func (ms minions) rosterOfSalt(a rosterAsk) (*roster, error) {
	ids, err := ms.idsOfSalt(a)
	if err != nil {
		return nil, err
	}
	v, err := ms.ask.runner("manage.present")
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, id := range data.TextsOf(v) {
		there[id] = true
	}
	r := &roster{total: len(ids)}
	for _, id := range ids {
		if there[id] {
			r.connected++
		}
	}
	wanted := slices.DeleteFunc(ids, func(id string) bool {
		return id <= a.after || a.connected != nil && there[id] != data.Truth(a.connected)
	})
	if len(wanted) > a.limit {
		wanted = wanted[:a.limit]
		r.next = wanted[a.limit-1]
	}
	if len(wanted) == 0 {
		return r, nil
	}
	if len(a.grains) == 0 { // only ids are wanted
		for _, id := range wanted {
			r.members = append(r.members, member{id: id, connected: there[id]})
		}
		return r, nil
	}
	cached, err := ms.ask.runnerMap("cache.grains", "tgt", data.Values(wanted), "tgt_type", "list")
	if err != nil {
		return nil, err
	}
	for _, id := range wanted {
		all, _ := cached.Value(id).(*data.Map)
		seat := member{id: id, connected: there[id], address: firstAddress(all), grains: data.NewMap()}
		for _, name := range a.grains {
			if v, ok := data.Lookup(all, name, ":"); ok {
				seat.grains.Set(name, v)
			}
		}
		r.members = append(r.members, seat)
	}
	return r, nil
}

// idsOfSalt returns the sorted ids of the accepted minions that a target matches.
func (ms minions) idsOfSalt(a rosterAsk) ([]string, error) {
	keys, err := keyring{ms.ask}.lists()
	if err != nil {
		return nil, err
	}
	ids := keys[stateAccepted]
	switch a.kind {
	case "glob":
		glob := match.CompileGlob(data.Str(a.tgt))
		ids = slices.DeleteFunc(ids, func(id string) bool { return !glob.Match(id) })
	case "list":
		ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(data.TextsOf(a.tgt), id) })
	default:
		found, err := ms.ask.runnerMap("cache.grains", "tgt", a.tgt, "tgt_type", a.kind)
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return !found.Has(id) })
	}
	slices.Sort(ids)
	return ids, nil
}

// connected returns the connected minions.
func (ms minions) connected() (map[string]bool, error) {
	v, err := ms.ask.runner("manage.present")
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, &netapi.Fault{Status: http.StatusBadGateway, Text: data.Str(v)}
	}
	there := make(map[string]bool, len(list))
	for _, id := range data.Texts(list) {
		there[id] = true
	}
	return there, nil
}

// cached returns what the master has cached of one minion.
func (ms minions) cached(fun, id string) (*data.Map, error) {
	m, err := ms.ask.runnerMap(fun, "tgt", []any{id}, "tgt_type", "list")
	if err != nil {
		return nil, err
	}
	one, _ := m.Value(id).(*data.Map)
	return one, nil
}

// pillar returns the cached pillar of a minion. Brine's master hides the values in the answers of
// runners, which are events; its wheel function answers to the caller alone.
func (ms minions) pillar(id string) (*data.Map, error) {
	v, err := ms.ask.wheel("minions.pillar", "minion", id)
	switch {
	case errors.Is(err, errNoFunction):
		return ms.cached("cache.pillar", id)
	case refused(err): // a master of Salt refuses what it lacks to users with some rights only
		if pillar, other := ms.cached("cache.pillar", id); other == nil {
			return pillar, nil
		}
	}
	m, _ := v.(*data.Map)
	return m, err
}

// count returns how many minions a compound target matches. known is false if the user or the master
// cannot say.
func (ms minions) count(target string) (n int, known bool, err error) {
	m, err := ms.ask.runnerMap(fleetRunner, "tgt", target, "tgt_type", "compound", "limit", int64(1))
	if refused(err) || errors.Is(err, errNoFunction) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return number(m.Value("total")), true, nil
}

// names returns some minions whose keys are accepted; none if the user may not list them.
func (ms minions) names() []string {
	v, err := ms.ask.wheel("key.list", "match", "accepted")
	m, _ := v.(*data.Map)
	if err != nil {
		return nil
	}
	list, _ := m.Value("minions").([]any)
	ids := data.Texts(list[:min(len(list), scheduleNames)])
	slices.Sort(ids)
	return ids
}
