package config

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// An Unused option is set and does nothing.
type Unused struct {
	Name string
	Why  string // a clause: there is no cluster mode
}

// Unused returns the options that files set, as the report of loading says, to something that a master does nothing with, in order.
// Values that are the default, or mean what is done anyway, are left out.
func (m *Master) Unused(r *Report) []Unused { return r.unused(m.opts, masterRole) }

// Unused is Master.Unused for a minion.
func (m *Minion) Unused(r *Report) []Unused { return r.unused(m.opts, minionRole) }

func (r *Report) unused(opts *data.Map, of role) []Unused {
	var list []Unused
	for _, o := range known().options {
		if _, ok := r.Sources[o.name]; !ok {
			continue
		}
		if why := o.idle(of, opts.Value(o.name)); why != "" {
			list = append(list, Unused{o.name, why})
		}
	}
	return list
}

// idle returns why the value of an option does nothing for a role, or "" where it does something or is not worth a word.
func (o option) idle(r role, set any) string {
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
