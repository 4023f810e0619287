package mine

import (
	"slices"

	"github.com/brineproject/brine/match"
)

// Rules decide what a query may see. [FleetRules] returns those of a master.
type Rules struct {
	// Resolve returns the minions that a target names by their known data. It must be set.
	Resolve func(tgt any, kind string) ([]string, error)
	// Inside reports whether a minion is certainly named by the target of an allow_tgt. It must be
	// set.
	Inside func(id string, tgt any, kind string) bool
	// Allowed reports whether the requester may query a function at all (option mine_get). Nil
	// allows all.
	Allowed func(requester, fun string) bool
}

// FleetRules returns the rules of a master. fleet returns the present minions and their data; its
// field Greedy is ignored.
func FleetRules(fleet func() (*match.Fleet, error)) Rules {
	return Rules{
		Resolve: func(tgt any, kind string) ([]string, error) {
			f, err := fleet()
			if err != nil {
				return nil, err
			}
			f.Greedy = false
			ids, _, err := f.Resolve(tgt, kind, "")
			return ids, err
		},
		Inside: func(id string, tgt any, kind string) bool {
			f, err := fleet()
			return err == nil && inside(f, id, tgt, kind)
		},
	}
}

// inside reports whether a target certainly names a minion. "not G@role:db" may name a minion
// without known grains although it has that role.
func inside(f *match.Fleet, id string, tgt any, kind string) bool {
	// without a data cache every compound target would match all minions
	f.Greedy, f.DataCache = false, true
	ids, _, err := f.Resolve(tgt, kind, "")
	if err != nil || !slices.Contains(ids, id) || !slices.Contains(f.Accepted, id) {
		return false
	}
	if f.Cache == nil {
		return !match.AsksForData(tgt, kind)
	}
	_, _, known := f.Cache.Minion(id)
	return known || !match.AsksForData(tgt, kind)
}
