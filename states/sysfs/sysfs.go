// Package sysfs is Salt's state sysfs: values of the attributes of kernel objects below /sys
// (salt/states/sysfs.py). It uses the module sysfs.
//
// Differences from Salt: numbers and texts of digits are the same value.
package sysfs

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state sysfs. It is available on hosts with the module sysfs.
func Plugin() loader.Plugin { return loader.Plugin{Name: "sysfs", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("sysfs.attr") {
		return nil, errors.New("sysfs module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("present", m.present)}}, nil
}

type presentArgs struct {
	Name   string
	Value  any
	Config any `default:"None"`
}

// chosen returns the word in brackets of a value that lists all possible ones.
func chosen(v any) string {
	text := data.Str(v)
	if at := strings.LastIndex(text, "["); at >= 0 {
		text, _, _ = strings.Cut(text[at+1:], "]")
	}
	return text
}

// present keeps the value of an attribute. config has no effect.
//
//	kernel/mm/transparent_hugepage/enabled:
//	  sysfs.present:
//	    - value: never
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	wanted := data.Str(a.Value)
	return change.Thing[string]{
		Name: a.Name,
		Look: func(ctx context.Context) (string, error) {
			v, err := change.Ask[any](ctx, m.env, "sysfs.read", []any{a.Name}, nil)
			if err != nil {
				return "", err
			}
			if v == false {
				return "", change.Reason("SysFS attribute " + a.Name + " doesn't exist.")
			}
			if _, is := v.(*data.Map); is {
				return "", change.Reason(a.Name + " is not a SysFS attribute.")
			}
			return chosen(v), nil
		},
		Wants: func(now string) *data.Map { return change.When(now != wanted, data.NewMap(a.Name, a.Value)) },
		Apply: func(ctx context.Context, _ string) error {
			ok, err := change.Ask[bool](ctx, m.env, "sysfs.write", []any{a.Name, a.Value}, nil)
			if err == nil && !ok {
				err = change.Reason("Failed to set " + a.Name + " to " + wanted)
			}
			return err
		},
		Silent: true,
		Trust:  true, // the kernel may show a value in another form
		Texts: change.Texts{
			Same:  "SysFS attribute " + a.Name + " is already set.",
			Would: "SysFS attribute " + a.Name + " set to be changed.",
			Done:  "Updated SysFS attribute " + a.Name + " to " + wanted,
		},
	}.Ensure(ctx)
}
