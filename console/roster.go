package console

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// A rosterAsk asks for a page of the accepted minions.
type rosterAsk struct {
	tgt       any
	kind      string
	after     string
	limit     int
	grains    []string
	connected any // true and false select; nil does not
}

// A roster is a page of the accepted minions, with the totals of its target.
type roster struct {
	total, connected int
	members          []member
	next             string // last id of the page, if there are more
}

// A member is a minion in a roster.
type member struct {
	id        string
	connected bool
	since     time.Time // zero if that is unknown
	address   string
	grains    *data.Map
}

// roster returns a page of the minions. Brine's master has one function for it; of Salt's it is put
// together from several.
func (q *request) roster(a rosterAsk) (*roster, error) {
	m, err := q.ask.runnerMap(fleetRunner, "tgt", a.tgt, "tgt_type", a.kind, "after", a.after, "limit", int64(a.limit),
		"grains", data.Values(a.grains), "connected", a.connected)
	switch {
	case errors.Is(err, errNoFunction):
		return q.rosterOfSalt(a)
	case refused(err): // a master of Salt refuses what it lacks to users with some rights only
		if r, other := q.rosterOfSalt(a); other == nil {
			return r, nil
		}
	}
	if err != nil {
		return nil, err
	}
	r := &roster{total: number(m.Value("total")), connected: number(m.Value("connected")), next: data.Str(orEmpty(m.Value("next")))}
	for _, v := range data.ListOf(m.Value("minions")) {
		one, ok := v.(*data.Map)
		if !ok {
			continue
		}
		grains, _ := one.Value("grains").(*data.Map)
		seat := member{id: one.Text("id"), connected: data.Truth(one.Value("connected")), address: data.Str(orEmpty(one.Value("address"))),
			grains: grains}
		if at := number(one.Value("since")); at > 0 {
			seat.since = time.Unix(int64(at), 0)
		}
		r.members = append(r.members, seat)
	}
	return r, nil
}

// rosterOfSalt puts a roster together from functions that Salt's master has. A target on grains then
// costs the grains of all minions that it matches.
func (q *request) rosterOfSalt(a rosterAsk) (*roster, error) {
	ids, err := q.idsOfSalt(a)
	if err != nil {
		return nil, err
	}
	v, err := q.ask.runner("manage.present")
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
	cached, err := q.ask.runnerMap("cache.grains", "tgt", data.Values(wanted), "tgt_type", "list")
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
func (q *request) idsOfSalt(a rosterAsk) ([]string, error) {
	keys, err := q.keyLists()
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
		found, err := q.ask.runnerMap("cache.grains", "tgt", a.tgt, "tgt_type", a.kind)
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return !found.Has(id) })
	}
	slices.Sort(ids)
	return ids, nil
}

// firstAddress returns the first address among grains that is not of the host itself.
func firstAddress(grains *data.Map) string {
	for _, family := range []string{"ipv4", "ipv6"} {
		for _, text := range data.TextsOf(grains.Value(family)) {
			ip, err := netip.ParseAddr(text)
			if err == nil && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
				return ip.String()
			}
		}
	}
	return ""
}
