package config

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// An Unused option is set but has no effect.
type Unused struct {
	Name string
	Why  string // a clause: there is no cluster mode
}

// Unused returns the options that files set, according to the report of loading, and that have no
// effect on a master, in order. It leaves out values that are the default or that match the actual
// behaviour.
func (m *Master) Unused(r *Report) []Unused { return r.unused(m.opts, masterRole) }

// Unused is Master.Unused for a minion.
func (m *Minion) Unused(r *Report) []Unused { return r.unused(m.opts, minionRole) }

func (r *Report) unused(opts *data.Map, of role) []Unused {
	var list []Unused
	for _, o := range known().options {
		if _, ok := r.Sources[o.name]; !ok {
			continue
		}
		if why := o.whyUnused(of, opts.Value(o.name)); why != "" {
			list = append(list, Unused{o.name, why})
		}
	}
	return list
}

// whyUnused returns why the value of an option has no effect for a role, or "" if it has one or is
// not worth a warning.
func (o option) whyUnused(r role, set any) string {
	u := o.of(r)
	switch {
	case u == nil && o.master != nil:
		return "it is an option of the master"
	case u == nil && o.minion != nil:
		return "it is an option of the minion"
	case u == nil && !data.Truth(set):
		return ""
	case u == nil:
		return o.why
	case u.effect != noEffect, u.set && data.Equal(set, u.value), !u.set && !data.Truth(set):
		return ""
	case slices.ContainsFunc(u.same, func(v any) bool { return data.Equal(v, set) }):
		return ""
	}
	return o.why
}
