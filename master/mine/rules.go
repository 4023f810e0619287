package mine

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// Rules say what a query may see. [FleetRules] makes those of a master.
type Rules struct {
	// Resolve returns the minions that a target names by what is known of them. It must be set.
	Resolve func(tgt any, kind string) ([]string, error)
	// Inside reports whether a minion is for sure inside of the target of an allow_tgt. It must be set.
	Inside func(id string, tgt any, kind string) bool
	// Allowed reports whether who asks may have a function at all (option mine_get). Nil allows all.
	Allowed func(requester, fun string) bool
}

// FleetRules are the rules of a master. fleet returns what it knows of its minions now; Greedy is not looked at.
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

// inside asks whether a target names a minion for sure. "not G@role:db" names one of which no grains are known, which may be in
// that role.
func inside(f *match.Fleet, id string, tgt any, kind string) bool {
	f.Greedy, f.DataCache = false, true // without a data cache every compound target would name all
	ids, _, err := f.Resolve(tgt, kind, "")
	if err != nil || !slices.Contains(ids, id) || !slices.Contains(f.Accepted, id) {
		return false
	}
	if f.Cache == nil {
		return !asksForData(tgt, kind)
	}
	_, _, known := f.Cache.Minion(id)
	return known || !asksForData(tgt, kind)
}

// asksForData reports whether a target is about what minions told of themselves. A node group may be.
func asksForData(tgt any, kind string) bool {
	switch kind {
	case "glob", "pcre", "list":
		return false
	case "compound":
		return slices.ContainsFunc(words(tgt), func(w string) bool {
			word := match.ParseWord(strings.TrimLeft(w, "("))
			return word.Engine != "" && word.Engine != "L" && word.Engine != "E"
		})
	}
	return true
}

func words(tgt any) []string {
	if text, ok := tgt.(string); ok {
		return strings.Fields(text)
	}
	var all []string
	list, _ := tgt.([]any)
	for _, w := range list {
		all = append(all, data.Str(w))
	}
	return all
}
