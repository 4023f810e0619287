package runner

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// A status is what requisites say of a chunk.
type status int

const (
	met       status = iota // it may run
	unmet                   // something has to run first
	failed                  // something that it requires failed
	pre                     // nothing of what it is a prereq for would change
	onfail                  // nothing failed
	onchanges               // nothing changed
	changed                 // something changed that it watches
)

// flags are what states that ran mean to a requisite.
type flags uint16

const (
	fUnmet flags = 1 << iota
	fFail
	fMet
	fChange
	fOnfail
	fOnchanges
	fOnchangesMet
	fPre
	fPremet
)

// A family of requisites judges the result of a state alike.
type family int

const (
	plain family = iota // require, prerequired
	watching
	failing
	changing
	looking // prereq
	families
)

// kinds are the requisites that are judged, in the order in which those that failed are named.
var kinds = [...]struct {
	name string
	family
}{
	{"require", plain}, {"require_any", plain}, {"watch", watching}, {"watch_any", watching}, {"prereq", looking},
	{"onfail", failing}, {"onfail_any", failing}, {"onfail_all", failing}, {"onchanges", changing}, {"onchanges_any", changing},
	{"prerequired", plain},
}

// requisites are the groups that a chunk requires, by kind.
type requisites map[string][]*group

// all returns the chunks of all kinds.
func (q requisites) all() []*data.Map {
	var all []*data.Map
	for _, kind := range kinds {
		for _, g := range q[kind.name] {
			all = append(all, g.chunks...)
		}
	}
	return all
}

// dict returns the chunks by kind, for mod_watch.
func (q requisites) dict() *data.Map {
	d := &data.Map{}
	for _, kind := range kinds {
		list := []any{}
		for _, g := range q[kind.name] {
			for _, chunk := range g.chunks {
				list = append(list, chunk)
			}
		}
		if _, ok := q[kind.name]; ok || kind.name != "prerequired" {
			d.Set(kind.name, list)
		}
	}
	return d
}

// judge finds out what the requisites of a chunk say (salt/state.py, check_requisite).
func (w *walk) judge(ctx context.Context, low *data.Map) (status, requisites, error) {
	w.watchless(low)
	reqs := requisites{}
	ignored := listOf(w.r.env.Option("disabled_requisites"))
	for _, kind := range kinds {
		v := low.Value(kind.name)
		if v == nil || kind.name == "prerequired" && ahead(low) {
			continue
		}
		if slices.Contains(ignored, any(kind.name)) {
			w.r.env.Log.Warnf("The %s requisite has been disabled, Ignoring.", kind.name)
			continue
		}
		groups, found, err := w.groups(v)
		if err != nil || !found {
			return unmet, nil, err
		}
		reqs[kind.name] = groups
	}
	var sum flags
	for _, kind := range kinds {
		f, err := w.flags(ctx, kind.family, reqs[kind.name])
		if err != nil {
			return unmet, nil, err
		}
		sum |= forgiving(kind.name, f)
	}
	return sum.status(), reqs, nil
}

// watchless makes what a chunk watches a require where its module has no mod_watch.
func (w *walk) watchless(low *data.Map) {
	if !low.Has("watch") && !low.Has("watch_any") || w.r.states.Has(low.Text("state")+".mod_watch") {
		return
	}
	becomes(low, "watch", "require")
	becomes(low, "watch_any", "require_any")
}

// becomes moves what a chunk has under one requisite behind what it has under another.
func becomes(low *data.Map, from, to string) {
	v, ok := low.Get(from)
	if !ok {
		return
	}
	low.Delete(from)
	low.Set(to, slices.Concat(elements(low.Value(to)), elements(v)))
}

// groups returns what a statement names, and whether all of it is there.
func (w *walk) groups(v any) (groups []*group, found bool, err error) {
	for _, item := range elements(v) {
		q, ok := queryOf(item)
		if !ok {
			return nil, false, badRequisite(item)
		}
		if q.pattern == nil {
			continue
		}
		g, err := w.index.find(q)
		if err != nil || len(g.chunks) == 0 {
			return nil, false, err
		}
		groups = append(groups, g)
	}
	return groups, true, nil
}

// flags joins what the results of groups mean.
func (w *walk) flags(ctx context.Context, f family, groups []*group) (flags, error) {
	var sum flags
	for _, g := range groups {
		part, err := w.groupFlags(ctx, f, g)
		if err != nil {
			return 0, err
		}
		sum |= part
	}
	return sum, nil
}

func (w *walk) groupFlags(ctx context.Context, f family, g *group) (flags, error) {
	known := &g.known[f]
	if f == looking { // what is seen ahead may be seen again
		known = &tally{}
	}
	for ; known.n < len(g.tags); known.n++ {
		tag := g.tags[known.n]
		if err := w.reconcile(ctx, tag); err != nil {
			return 0, err
		}
		ret := w.result(tag)
		if f == looking {
			ret = w.r.pre[tag]
		}
		if ret == nil {
			return known.flags | fUnmet, nil
		}
		known.flags |= meaning(f, ret)
	}
	return known.flags, nil
}

// meaning says what one result means to a requisite.
func meaning(f family, ret *data.Map) flags {
	result, hasChanges := ret.Value("result"), data.Truth(ret.Value("changes"))
	ran, told := ret.Get("__state_ran__")
	switch {
	case f == failing && result == true:
		return fOnfail
	case f != failing && result == false:
		return fFail
	case f == changing && hasChanges:
		return fOnchangesMet
	case f == changing:
		return fOnchanges
	case f == watching && hasChanges:
		return fChange
	case f == looking && result != nil:
		return fPre
	case f == looking:
		return fPremet | fMet
	case told && !data.Truth(ran):
		return 0
	}
	return fMet
}

// forgiving drops what one good state makes up for in the _any forms and in onfail, and one bad state in onfail_all.
func forgiving(kind string, f flags) flags {
	if strings.HasSuffix(kind, "_any") || kind == "onfail" {
		if f&(fMet|fChange) != 0 {
			f &^= fFail
		}
		if f&fOnchangesMet != 0 {
			f &^= fOnchanges | fFail
		}
		if f&fOnfail != 0 && f&fMet != 0 {
			f &^= fOnfail
		}
	}
	if strings.HasSuffix(kind, "_all") && f&fOnfail != 0 {
		f &^= fMet
	}
	return f
}

// status decides by the flags of all requisites.
func (f flags) status() status {
	switch {
	case f&fUnmet != 0:
		return unmet
	case f&fFail != 0:
		return failed
	case f&fPre != 0 && f&fPremet != 0:
		return met
	case f&fPre != 0:
		return pre
	case f&fOnfail != 0 && f&fOnchangesMet == 0:
		return onfail
	case f&fOnchanges != 0 && f&fOnchangesMet == 0:
		return onchanges
	case f&fChange != 0:
		return changed
	case f&fOnfail != 0:
		return onfail
	}
	return met
}
