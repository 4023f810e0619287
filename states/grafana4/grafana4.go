// Package grafana4 has Salt's states grafana4_dashboard, grafana4_datasource, grafana4_org and grafana4_user
// (salt/states/grafana4_*.py). They use the module grafana4.
//
// Differences from Salt: what is already right is a success, and a data source counts as right if its given
// fields are; Salt changes it in each run. Passwords of data sources do not stand in the changes, and reach
// Grafana with another change only if Grafana does not show them. An organization that is not there is
// absent, where Salt's state ends with an exception. The pinned rows of a dashboard come first; Salt drops
// them.
package grafana4

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type module struct{ env *loader.Env }

func state(name, needs string, funcs func(*module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("grafana4." + needs) {
			return nil, errors.New("grafana4 module could not be loaded")
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

// profile returns a profile: a dictionary, or the option of a name.
func (m *module) profile(ctx context.Context, given any) (any, error) {
	name, ok := given.(string)
	if !ok {
		return given, nil
	}
	return calls.Option[any](ctx, m.env, name)
}

// ask calls a function of the module with a profile.
func ask[R any](ctx context.Context, m *module, fun string, profile any, kwargs *data.Map, args ...any) (R,
	error) {
	all := kwargs.Clone()
	all.Set("profile", profile)
	return change.Ask[R](ctx, m.env, "grafana4."+fun, args, all)
}

func (m *module) do(ctx context.Context, fun string, profile any, kwargs *data.Map, args ...any) error {
	_, err := ask[any](ctx, m, fun, profile, kwargs, args...)
	return err
}

// missing reports whether Grafana answered that something is not there.
func missing(err error) bool {
	e, ok := errors.AsType[*loader.Error](err)
	return ok && e.Class == "requests.exceptions.HTTPError" && strings.HasPrefix(e.Text, "404 ")
}

// filled returns wanted fields with the values of now in place of those that are None.
func filled(now *data.Map, pairs ...any) *data.Map {
	all := data.NewMap(pairs...)
	for k, v := range all.All() {
		if v == nil {
			all.Set(k, now.Value(k))
		}
	}
	return all
}

// same reports whether the fields of wanted have these values in now. A field that is not there is None.
func same(now, wanted *data.Map) bool {
	for k, v := range wanted.All() {
		if !data.Equal(now.Value(k), v) {
			return false
		}
	}
	return true
}

// merge adds differences to changes.
func merge(changes, more *data.Map) { data.Merge(changes, more, false) }
