package master

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
)

// A tier is what a job's target reaches through syndics.
type tier struct {
	syndics []string            // connected
	unsure  []string            // those of them whose minions only the lower master knows
	below   []string            // minions of the target, of syndics that have sent an inventory; sorted
	away    map[string][]string // minions of the target behind syndics that are not connected
}

// awayMinions returns the minions behind syndics that are not connected, sorted.
func (t *tier) awayMinions() (ids []string) {
	for _, list := range t.away {
		ids = append(ids, list...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// reply returns the fields by which a client learns what to expect from syndics; none without
// syndics.
func (t *tier) reply() *data.Map {
	reply := data.NewMap()
	if len(t.unsure) > 0 {
		reply.Set("syndics", data.Values(t.unsure))
	}
	if len(t.below) > 0 {
		reply.Set("below", data.Values(t.below))
	}
	if len(t.away) > 0 {
		away := data.NewMap()
		for _, id := range slices.Sorted(maps.Keys(t.away)) {
			away.Set(id, data.Values(t.away[id]))
		}
		reply.Set("syndics_away", away)
	}
	return reply
}

// extend adds the minions behind syndics to those that a job is for. It returns the job as it is
// recorded; own has only the minions of this master.
func (s *sentJob) extend(own *returners.Job) *returners.Job {
	if len(s.tier.below) == 0 {
		return own
	}
	all := *own
	all.Minions = merge(slices.Sorted(slices.Values(own.Minions)), s.tier.below)
	all.Absent = merge(slices.Sorted(slices.Values(own.Absent)), s.tier.awayMinions())
	all.Missing = without(slices.Sorted(slices.Values(own.Missing)), s.tier.below)
	s.ids, s.missing, s.absent = all.Minions, all.Missing, all.Absent
	return &all
}

// tier returns what a target reaches through syndics. Which minions of a connected syndic a target
// names is only known here if it depends on ids alone; for other targets the lower master tells.
func (s *syndics) tier(tgt any, kind, delim string) tier {
	t := tier{away: map[string][]string{}}
	if s == nil || s.Empty() {
		return t
	}
	own, err := s.ownMinions()
	if err != nil {
		s.log.WithError(err).Error("tell minions of this master from those behind syndics")
		return t
	}
	gone := s.away()
	names := s.exact(tgt, kind, delim)
	for _, id := range s.All() {
		if s.mayAct(id) != nil {
			continue
		}
		if !slices.Contains(gone, id) {
			t.syndics = append(t.syndics, id)
			ids, sure := s.Exact(id)
			if kind == "list" { // nobody would name a minion that is not there
				ids = s.Behind(id)
			}
			if names != nil {
				t.below = append(t.below, chosen(id, ids, own, names)...)
			}
			if !sure || names == nil {
				t.unsure = append(t.unsure, id)
			}
			continue
		}
		if names == nil {
			t.away[id] = nil
			continue
		}
		if ids := chosen(id, s.Behind(id), own, names); len(ids) > 0 {
			t.away[id] = ids
			t.below = append(t.below, ids...)
		}
	}
	s.dropReached(&t)
	slices.Sort(t.below)
	t.below = slices.Compact(t.below)
	return t
}

// dropReached removes minions from those that are away if they are behind a connected syndic too. So it is
// with a cluster of lower masters, each of which has a syndic.
func (s *syndics) dropReached(t *tier) {
	if len(t.away) == 0 {
		return
	}
	reached := map[string]bool{}
	for _, id := range t.syndics {
		for _, minion := range s.Behind(id) {
			reached[minion] = true
		}
	}
	for id, minions := range t.away {
		all := minions
		if all == nil { // the target depends on more than ids: any of them may be meant
			all = s.Behind(id)
		}
		left := slices.DeleteFunc(slices.Clone(all), func(minion string) bool { return reached[minion] })
		switch {
		case len(all) > 0 && len(left) == 0:
			delete(t.away, id)
		case minions != nil:
			t.away[id] = left
		}
	}
}

// exact returns a function that reports whether a target names an id, or nil if that depends on more
// than the id.
func (s *syndics) exact(tgt any, kind, delim string) func(id string) bool {
	switch kind {
	case "glob", "list", "pcre", "":
	default:
		return nil
	}
	if kind == "list" {
		ids := listed(tgt)
		return func(id string) bool { return ids[id] }
	}
	target, err := match.Compile(tgt, cmp.Or(kind, "glob"), delim, match.Options{})
	if err != nil {
		return func(string) bool { return false }
	}
	return func(id string) bool {
		named, err := target.Check(&match.Minion{ID: id, Grains: data.NewMap(), Pillar: data.NewMap()})
		return named && err == nil
	}
}

// listed returns the ids of a list target.
func listed(tgt any) map[string]bool {
	ids := map[string]bool{}
	if text, ok := tgt.(string); ok {
		for id := range strings.SplitSeq(text, ",") {
			ids[strings.TrimSpace(id)] = true
		}
		return ids
	}
	for _, id := range data.TextsOf(tgt) {
		ids[id] = true
	}
	return ids
}

// ownMinions returns the minions whose keys this master has accepted.
func (s *syndics) ownMinions() (map[string]bool, error) {
	ids, err := s.keys.List(pki.Accepted)
	if err != nil {
		return nil, err
	}
	own := make(map[string]bool, len(ids))
	for _, id := range ids {
		own[id] = true
	}
	return own, nil
}

// chosen returns the minions behind a syndic that a target names, and that are not the master's own.
func chosen(
	syndic string, ids []string, own map[string]bool, names func(id string) bool,
) (out []string) {
	for _, id := range ids {
		if names(id) && (!own[id] || id == syndic) {
			out = append(out, id)
		}
	}
	return out
}
