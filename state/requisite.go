package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// requisitesIn are the arguments that affect other states or copy arguments from them.
var requisitesIn = []string{"require_in", "watch_in", "onfail_in", "onchanges_in", "use", "use_in",
	"prereq", "prereq_in"}

// notUsed are the arguments that use does not copy.
var notUsed = append([]string{"require", "watch", "onfail", "onfail_stop", "onchanges", "name",
	"names"}, requisitesIn...)

// inversion collects the arguments that requisites of the _in forms, use and prereq add to other
// states.
type inversion struct {
	high     *data.Map
	ext      *data.Map // id → {state: arguments to add}
	errs     []string
	disabled func(keyword string) bool
}

// source is the state that declares the requisite.
type source struct {
	place
	body *data.Map
	key  string // the keyword, such as require_in
}

// kind returns the keyword that the other state receives.
func (s source) kind() string {
	kind, _, _ := strings.Cut(s.key, "_")
	return kind
}

// requisitesIn extends high data with the requisites that its states declare for others, and
// returns the problems (salt/state.py, requisite_in).
func (c *Compiler) requisitesIn(high *data.Map) []string {
	off, _ := c.env().Option("disabled_requisites").([]any)
	if name := c.text("disabled_requisites"); name != "" {
		off = []any{name}
	}
	in := &inversion{high: high, ext: data.NewMap(), disabled: func(keyword string) bool {
		if !contains(off, keyword) {
			return false
		}
		c.env().Log.Warnf("The %s requisite has been disabled, Ignoring.", keyword)
		return true
	}}
	in.all()
	list := []any{}
	for id, body := range in.ext.All() {
		list = append(list, data.NewMap(id, body))
	}
	high.Set("__extend__", list)
	return append(in.errs, extend(high, true)...)
}

func (in *inversion) all() {
	for id, v := range in.high.All() {
		body, _ := v.(*data.Map)
		for state, run := range body.All() {
			args, _ := run.([]any)
			if internal(state) {
				continue
			}
			for _, arg := range args {
				if m, ok := arg.(*data.Map); ok {
					in.argument(source{place: place{id, state}, body: body}, m)
				}
			}
		}
	}
}

func (in *inversion) argument(from source, arg *data.Map) {
	from.key, _ = firstKey(arg).(string)
	if !slices.Contains(requisitesIn, from.key) || in.disabled(from.key) {
		return
	}
	switch items := arg.Value(from.key).(type) {
	case *data.Map:
		for state, name := range items.All() {
			if data.Hashable(name) {
				in.add(from, place{name, in.stripFunction(from, state, name)})
			} else {
				in.badID(from, name)
			}
		}
	case []any:
		in.list(from, items)
	}
}

// list processes a list of references. As in Salt, each entry repeats the entries before it. An
// entry of the kind sls replaces the entries collected so far.
func (in *inversion) list(from source, items []any) {
	var targets []place
	for _, item := range items {
		ref, ok := in.reference(item)
		if !ok {
			in.unhashable(from, item)
			continue
		}
		if ref.state == "sls" {
			targets = ofSLS(in.high, ref.id)
		} else {
			targets = append(targets, ref)
		}
		in.stripFunction(from, ref.state, ref.id)
		for _, to := range targets {
			in.apply(from, to)
		}
	}
}

// unhashable reports an entry of a requisite that has a list or a dictionary in place of an ID.
func (in *inversion) unhashable(from source, item any) {
	if m, ok := item.(*data.Map); ok && m.Len() > 0 {
		_, item = m.At(0)
	} else if ok {
		return
	}
	if !data.Hashable(item) {
		in.badID(from, item)
	}
}

// badID reports a value that cannot be an ID. Salt fails with a TypeError.
func (in *inversion) badID(from source, id any) {
	in.errs = append(in.errs, fmt.Sprintf("Invalid requisite %s of ID '%s' in SLS '%s': %s is not the ID of a state",
		from.key, data.Str(from.id), from.body.Text("__sls__"), Text(id)))
}

// reference resolves an entry of a requisite: {STATE: ID}, an ID (its first state), or a name.
func (in *inversion) reference(item any) (place, bool) {
	if m, ok := item.(*data.Map); ok {
		if m.Len() == 0 {
			return place{}, false
		}
		state, id := m.At(0)
		return place{id, state}, data.Hashable(id)
	}
	if !data.Hashable(item) {
		return place{}, false
	}
	if body, ok := in.high.Value(item).(*data.Map); ok {
		state := firstState(body)
		return place{item, state}, state != nil
	}
	return in.byName(item)
}

// byName returns the first state whose argument name has this value.
func (in *inversion) byName(name any) (place, bool) {
	for id, v := range in.high.All() {
		body, _ := v.(*data.Map)
		for state, run := range body.All() {
			args, _ := run.([]any)
			for _, arg := range args {
				if m, ok := arg.(*data.Map); ok && !internal(state) && m.Has("name") &&
					data.Equal(m.Value("name"), name) {
					return place{id, state}, true
				}
			}
		}
	}
	return place{}, false
}

// stripFunction returns the state part of a reference. It reports a problem if the reference
// contains a function.
func (in *inversion) stripFunction(from source, state, name any) any {
	text, _ := state.(string)
	family, _, dotted := strings.Cut(text, ".")
	if !dotted {
		return state
	}
	in.errs = append(in.errs, fmt.Sprintf("Invalid requisite in %s: %s for %s, in SLS '%s'. Requisites must not contain dots, did you mean '%s'?",
		from.kind(), text, data.Str(name), from.body.Text("__sls__"), family))
	return family
}

// apply applies one requisite to the state it references.
func (in *inversion) apply(from source, to place) {
	switch from.key {
	case "prereq":
		for _, found := range findName(in.high, to.id, to.state, true) {
			in.extend(found, data.NewMap("prerequired", []any{data.NewMap(from.state, from.id)}))
		}
	case "use_in":
		for _, found := range findName(in.high, to.id, to.state, true) {
			in.use(from.place, found)
		}
	case "use":
		for _, found := range findName(in.high, to.id, to.state, true) {
			in.use(found, from.place)
		}
	case "prereq_in":
		in.extend(from.place, data.NewMap("prerequired", []any{data.NewMap(to.state, to.id)}))
		in.add(from, to)
	default:
		in.add(from, to)
	}
}

// use copies the arguments of one state to another, except those that it already has.
func (in *inversion) use(from, to place) {
	own := in.arguments(to)
	in.extend(to)
	for _, arg := range in.arguments(from) {
		key, _ := firstKey(arg).(string)
		has := slices.ContainsFunc(own, func(m *data.Map) bool { return firstKey(m) == key })
		if !has && !slices.Contains(notUsed, key) {
			in.extend(to, arg)
		}
	}
}

// arguments returns the single-key dictionaries among the arguments of a state.
func (in *inversion) arguments(at place) []*data.Map {
	body, _ := in.high.Value(at.id).(*data.Map)
	list, _ := body.Value(at.state).([]any)
	var args []*data.Map
	for _, arg := range list {
		if m, ok := arg.(*data.Map); ok && m.Len() == 1 {
			args = append(args, m)
		}
	}
	return args
}

// extend adds arguments to the extension of a state.
func (in *inversion) extend(to place, args ...any) {
	body := subMap(in.ext, to.id)
	list, _ := body.Value(to.state).([]any)
	body.Set(to.state, append(list, args...))
}

// add makes the source a requisite of another state.
func (in *inversion) add(from source, to place) {
	in.extend(to)
	body := subMap(in.ext, to.id)
	body.Set("__env__", from.body.Value("__env__"))
	body.Set("__sls__", from.body.Value("__sls__"))
	kind, ref := from.kind(), data.NewMap(from.state, from.id)
	found := false
	for _, arg := range body.Value(to.state).([]any) {
		if m, ok := arg.(*data.Map); ok && firstKey(m) == kind {
			list, _ := m.Value(kind).([]any)
			m.Set(kind, append(list, ref))
			found = true
		}
	}
	if !found {
		in.extend(to, data.NewMap(kind, []any{ref}))
	}
}
