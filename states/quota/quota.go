// Package quota is Salt's state quota: whether disk quotas are on (salt/states/quota.py). It uses the
// module quota.
package quota

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state quota. It is available on hosts with the module quota.
func Plugin() loader.Plugin { return loader.Plugin{Name: "quota", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("quota.report") {
		return nil, errors.New("quota module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("mode", m.mode)}}, nil
}

type modeArgs struct {
	Name      string
	Mode      any
	Quotatype string
}

// mode keeps the quotas of a file system on or off.
//
// mode
//
//	True or False: on or off.
//
// quotatype
//
//	user or group: the quotas to look at. Those of both are turned on or off.
//
//	/:
//	  quota.mode:
//	    - mode: off
//	    - quotatype: user
func (m *module) mode(ctx context.Context, a modeArgs) (change.Result, error) {
	wanted := "off"
	if a.Mode == true || a.Mode == "on" {
		wanted = "on"
	}
	look := func(ctx context.Context) (string, error) {
		modes, err := change.Ask[*data.Map](ctx, m.env, "quota.get_mode", []any{a.Name}, nil)
		if err != nil {
			return "", err
		}
		of, ok := modes.Value(a.Name).(*data.Map)
		if !ok || !of.Has(a.Quotatype) {
			return "", change.Reason("the file system " + a.Name + " has no " + a.Quotatype + " quota")
		}
		return of.Text(a.Quotatype), nil
	}
	failed := "Failed to set quota for " + a.Name + " to " + wanted
	return change.Thing[string]{
		Name:  a.Name,
		Look:  look,
		Wants: func(now string) *data.Map { return change.When(now != wanted, data.NewMap("quota", a.Name)) },
		Apply: func(ctx context.Context, _ string) error {
			_, err := m.env.Call(ctx, "quota."+wanted, []any{a.Name}, nil)
			if loader.KindOf(err) == loader.KindExecution {
				if now, lookErr := look(ctx); lookErr == nil && now == wanted {
					return nil // the quotas of the other type were as wanted before
				}
				err = change.Reason(failed + ": " + err.Error())
			}
			return change.Except(err, loader.KindExecution)
		},
		Silent: true,
		Texts: change.Texts{
			Same:   "Quota for " + a.Name + " already set to " + wanted,
			Would:  "Quota for " + a.Name + " needs to be set to " + wanted,
			Done:   "Set quota for " + a.Name + " to " + wanted,
			Failed: failed,
		},
	}.Ensure(ctx)
}
