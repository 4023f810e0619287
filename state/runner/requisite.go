package runner

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state"
)

// A status is the combined outcome of a chunk's requisites.
type status int

const (
	statusMet       status = iota // the chunk may run
	statusUnmet                   // another chunk has to run first
	statusFailed                  // a required chunk failed
	statusPre                     // prereq: the other state would not change anything
	statusOnfail                  // onfail: no state failed
	statusOnchanges               // onchanges: no state changed anything
	statusChanged                 // a watched state changed something
)

// flags are the meanings of finished states for a requisite, as a bit set.
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

// A family of requisites interprets the result of a state in the same way.
type family int

const (
	plain family = iota // require, prerequired
	watching
	failing
	changing
	lookahead // prereq
	families
)

// kinds lists the requisites in the order in which failed ones are reported.
var kinds = [...]struct {
	name string
	family
}{
	{"require", plain}, {"require_any", plain}, {"watch", watching}, {"watch_any", watching},
	{"prereq", lookahead},
	{"onfail", failing}, {"onfail_any", failing}, {"onfail_all", failing}, {"onchanges", changing},
	{"onchanges_any", changing},
	{"prerequired", plain},
}

// requisites holds the groups that a chunk requires, by kind.
type requisites map[string][]*group

// all returns the chunks of all kinds.
func (q requisites) all() []state.Chunk {
	var all []state.Chunk
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
				list = append(list, chunk.Map)
			}
		}
		if _, ok := q[kind.name]; ok || kind.name != "prerequired" {
			d.Set(kind.name, list)
		}
	}
	return d
}

// judge evaluates the requisites of a chunk (salt/state.py, check_requisite).
func (w *walk) judge(ctx context.Context, low state.Chunk) (status, requisites, error) {
	w.r.replaceWatch(low)
	reqs := requisites{}
	ignored := data.ListOf(w.r.env.Option("disabled_requisites"))
	for _, kind := range kinds {
		v := low.Value(kind.name)
		if v == nil || kind.name == "prerequired" && isLookahead(low) {
			continue
		}
		if slices.Contains(ignored, any(kind.name)) {
			w.r.env.Log.Warnf("The %s requisite has been disabled, Ignoring.", kind.name)
			continue
		}
		groups, found, err := w.findGroups(v)
		if err != nil || !found {
			return statusUnmet, nil, err
		}
		reqs[kind.name] = groups
	}
	var sum flags
	for _, kind := range kinds {
		f, err := w.combineFlags(ctx, kind.family, reqs[kind.name])
		if err != nil {
			return statusUnmet, nil, err
		}
		sum |= relax(kind.name, f)
	}
	return sum.toStatus(), reqs, nil
}

// replaceWatch turns the watch requisites of a chunk into require if its module has no mod_watch.
func (r *Runner) replaceWatch(low state.Chunk) {
	if !low.Has("watch") && !low.Has("watch_any") ||
		r.states.Has(low.State()+".mod_watch") {
		return
	}
	moveRequisite(low, "watch", "require")
	moveRequisite(low, "watch_any", "require_any")
}

// moveRequisite appends the entries of one requisite to another.
func moveRequisite(low state.Chunk, from, to string) {
	v, ok := low.Get(from)
	if !ok {
		return
	}
	low.Delete(from)
	low.Set(to, slices.Concat(elements(low.Value(to)), elements(v)))
}

// findGroups returns the groups that a statement references. It returns false if one of them is
// empty.
func (w *walk) findGroups(v any) (groups []*group, found bool, err error) {
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

// combineFlags combines the flags of several groups.
func (w *walk) combineFlags(ctx context.Context, f family, groups []*group) (flags, error) {
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
	known := &g.cached[f]
	if f == lookahead { // the result of a dry run may change
		known = &tally{}
	}
	for ; known.n < len(g.tags); known.n++ {
		tag := g.tags[known.n]
		if err := w.reconcile(ctx, tag); err != nil {
			return 0, err
		}
		ret := w.result(tag)
		if f == lookahead {
			ret = w.r.pre[tag]
		}
		if ret == nil {
			return known.flags | fUnmet, nil
		}
		known.flags |= flagsOf(f, ret)
	}
	return known.flags, nil
}

// flagsOf returns the flags of one result for a family of requisites.
func flagsOf(f family, ret *data.Map) flags {
	result, hasChanges := ret.Value("result"), data.Truth(ret.Value("changes"))
	ran, hasRan := ret.Get("__state_ran__")
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
	case f == lookahead && result != nil:
		return fPre
	case f == lookahead:
		return fPremet | fMet
	case hasRan && !data.Truth(ran):
		return 0
	}
	return fMet
}

// relax drops the flags that do not count. In the _any forms and in onfail, one state that meets
// the condition is enough. In onfail_all, one state that does not meet it is decisive.
func relax(kind string, f flags) flags {
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

// toStatus derives the status from the combined flags.
func (f flags) toStatus() status {
	switch {
	case f&fUnmet != 0:
		return statusUnmet
	case f&fFail != 0:
		return statusFailed
	case f&fPre != 0 && f&fPremet != 0:
		return statusMet
	case f&fPre != 0:
		return statusPre
	case f&fOnfail != 0 && f&fOnchangesMet == 0:
		return statusOnfail
	case f&fOnchanges != 0 && f&fOnchangesMet == 0:
		return statusOnchanges
	case f&fChange != 0:
		return statusChanged
	case f&fOnfail != 0:
		return statusOnfail
	}
	return statusMet
}
