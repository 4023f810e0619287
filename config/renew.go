package config

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// A Change is the difference that a new configuration makes.
type Change struct {
	Applied []string // options that are in effect now, sorted
	Restart []string // options that take effect at the next start, sorted
}

// Renew returns m with those options of next that may change while a master runs. Options that only
// modules and templates read can always change.
func (m *Master) Renew(next *Master) (*Master, Change) {
	renewed := *m
	renewed.opts, renewed.schedules = m.Map(), next.schedules
	change := follow(&renewed, next, renewed.opts, next.Map(), &renewed.loaded)
	return &renewed, change
}

// Renew is Master.Renew for a minion.
func (m *Minion) Renew(next *Minion) (*Minion, Change) {
	renewed := *m
	renewed.opts, renewed.schedules = m.Map(), next.schedules
	change := follow(&renewed, next, renewed.opts, next.Map(), &renewed.loaded)
	return &renewed, change
}

// follow changes m and its opts, and sets loaded, which is a field of m, to a copy of the changed
// m. The copy's own loaded is nil; otherwise the copies would form a chain that grows with each
// reload.
func follow[T any](m, next *T, opts, after *data.Map, loaded **T) Change {
	change := replace(m, next, opts, after)
	overlay(opts, after, change.Applied)
	*loaded = nil
	copied := *m
	*loaded = &copied
	return change
}

// replace copies the live fields from next to the struct that old points to, and returns the
// options that differ.
func replace(old, next any, before, after *data.Map) Change {
	from := fields(next)
	for i, f := range fields(old) {
		if f.use.effect == live {
			f.value.Set(from[i].value)
		}
	}
	var c Change
	for _, name := range differing(before, after) {
		if known().effect(name, roleOf(next)) == atStart {
			c.Restart = append(c.Restart, name)
		} else {
			c.Applied = append(c.Applied, name)
		}
	}
	return c
}

// differing returns the names of options that differ between two configurations, sorted.
func differing(a, b *data.Map) []string {
	var names []string
	for _, k := range slices.Concat(a.Keys(), b.Keys()) {
		name, _ := k.(string)
		was, had := a.Get(name)
		is, has := b.Get(name)
		if (had != has || !data.Equal(was, is)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// overlay copies the named options from after to opts.
func overlay(opts, after *data.Map, names []string) {
	for _, name := range names {
		if v, ok := after.Get(name); ok {
			opts.Set(name, v)
		} else {
			opts.Delete(name)
		}
	}
}

// LiveOptions returns the options that Brine itself reads and that may change while a master or
// minion runs, sorted.
func LiveOptions() (master, minion []string) { return liveOf(&Master{}), liveOf(&Minion{}) }

func liveOf(ptr any) []string {
	var names []string
	for _, f := range fields(ptr) {
		if f.use.effect == live {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
