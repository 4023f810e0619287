// Package logrotate is Salt's state logrotate: settings in the configuration of the program logrotate
// (salt/states/logrotate.py). It uses the module logrotate.
package logrotate

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state logrotate.
func Plugin() loader.Plugin { return loader.Plugin{Name: "logrotate", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("logrotate.show_conf") {
		return nil, errors.New("logrotate module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("set", m.set).Def("set_")}}, nil
}

type setArgs struct {
	Name     string
	Key      any
	Value    any
	Setting  any    `default:"None"`
	ConfFile string `name:"conf_file" default:"'/etc/logrotate.conf'"`
}

// number converts a text of digits to a number.
func number(v any) any {
	if n, err := loader.Int(data.Str(v)); err == nil {
		return n
	}
	return v
}

// set keeps a setting in the configuration of logrotate.
//
// key, value
//
//	The setting and its value: True for one without a value, False for one to remove. With setting: the
//	block, such as /var/log/wtmp, and the setting in it.
//
// setting
//
//	The value of the setting in the block.
//
//	logrotate-wtmp-rotate:
//	  logrotate.set:
//	    - key: /var/log/wtmp
//	    - value: rotate
//	    - setting: 2
func (m *module) set(ctx context.Context, a setArgs) (change.Result, error) {
	title, wanted := "command '"+data.Str(a.Key)+"'", number(a.Value)
	get := data.NewMap("key", a.Key, "conf_file", a.ConfFile)
	set := data.NewMap("key", a.Key, "value", wanted, "conf_file", a.ConfFile)
	if a.Setting != nil {
		title = "block '" + data.Str(a.Key) + "' command '" + data.Str(a.Value) + "'"
		wanted = number(a.Setting)
		get.Set("value", a.Value)
		set.Update(data.NewMap("value", a.Value, "setting", wanted))
	}
	upper := string(title[0]-'a'+'A') + title[1:]
	shown := ": " + data.Str(wanted)
	return change.Thing[any]{
		Name: a.Name,
		Look: func(ctx context.Context) (any, error) {
			v, err := m.env.Call(ctx, "logrotate.get", nil, get)
			var problem *loader.Error
			if errors.As(err, &problem) && problem.Class == "AttributeError" {
				return false, nil // a setting where a block is wanted: set tells so
			}
			return v, change.Raise(err)
		},
		Wants: func(now any) *data.Map {
			return change.When(!data.Equal(now, wanted), change.OldNew(now, wanted))
		},
		Apply: func(ctx context.Context, _ any) error {
			return change.Do(ctx, m.env, "logrotate.set", nil,
				set)
		},
		Texts: change.Texts{
			Same:   upper + " already has value" + shown,
			Would:  upper + " will be set to value" + shown,
			Done:   "Set " + title + " value" + shown,
			Failed: "Unable to set " + title + " value" + shown,
		},
	}.Ensure(ctx)
}
