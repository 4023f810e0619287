package pillar

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// An own is a user's external pillar: the function ext_pillar of a plug-in of the kind pillar
// (salt/loader/__init__.py, pillars).
type own struct {
	name string
	fun  loader.Func
}

// source returns the external pillar of a name: a user's whose file has that name, a listed one, or
// a user's that calls itself so.
func (w *compilation) source(name string) (Source, bool) {
	var users *own
	if w.Own != nil {
		// with the options, the grains and the pillar of the minion
		registry := w.Own.With(w.engine.Env())
		if fun, ok := registry.Func(name + ".ext_pillar"); ok {
			users = &own{name, fun}
			if registry.Provider(name) == name {
				return users, true
			}
		}
	}
	if s, ok := w.sources[name]; ok {
		return s, true
	}
	if users == nil {
		return nil, false
	}
	return users, true
}

// Name implements Source.
func (o *own) Name() string { return o.name }

var errNoDict = errors.New("Cannot update using non-dict types in dictupdate.update()") //nolint:staticcheck // Salt's text

// Pillar implements Source. The function gets the minion's id, the pillar so far, and the arguments
// of the option: the elements of a list, the entries of a dictionary by name, or one value
// (salt/pillar/__init__.py, _external_pillar_data).
func (o *own) Pillar(ctx context.Context, q Query) (*data.Map, error) {
	more, kwargs := Spread(q.Argument)
	kwargs = kwargs.Clone()
	if q.ExtraMinionData.Len() > 0 && o.wants("extra_minion_data") {
		kwargs.Set("extra_minion_data", q.ExtraMinionData)
	}
	bound, err := o.fun.Spec().Bind(append([]any{q.ID, q.Pillar}, more...), kwargs)
	if err != nil {
		return nil, err
	}
	v, err := o.fun.Call(ctx, bound)
	if err != nil || !data.Truth(v) {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errNoDict
	}
	return m, nil
}

// wants reports whether the function has a parameter.
func (o *own) wants(name string) bool {
	for _, p := range o.fun.Spec().Params {
		if p.Name == name {
			return true
		}
	}
	return false
}
