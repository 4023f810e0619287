// Package process is Salt's state process: it ends processes (salt/states/process.py).
//
// Oddity kept from Salt: test mode searches for the pattern in the names of processes, the real run
// in their complete command lines.
package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state process.
func Plugin() loader.Plugin { return loader.Plugin{Name: "process", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("ps.pkill") {
		return nil, errors.New("ps module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("absent", m.absent)}}, nil
}

type absentArgs struct {
	Name   any
	User   any `default:"None"`
	Signal any `default:"None"`
}

// absent ends the processes whose command line contains a text.
//
// name
//
//	The text.
//
// user
//
//	End only processes of this user. Default: all users.
//
// signal
//
//	The number of the signal to send. Default: 15, SIGTERM.
//
//	httpd-absent:
//	  process.absent:
//	    - name: apache2
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	if change.Test(ctx) {
		list, err := calls.Found[[]any](ctx, m.env, "ps.pgrep", []any{a.Name},
			data.NewMap("user", a.User))
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return change.Would(a.Name, nil,
				fmt.Sprintf("%d processes will be killed", len(list))), nil
		}
		return change.Would(a.Name, nil, noneText), nil
	}
	options := data.NewMap("user", a.User, "full", true)
	if data.Truth(a.Signal) {
		options.Set("signal", a.Signal)
	}
	changes, err := calls.Found[*data.Map](ctx, m.env, "ps.pkill", []any{a.Name}, options)
	if err != nil {
		return nil, err
	}
	if changes.Len() == 0 {
		return change.Unchanged(a.Name, noneText), nil
	}
	killed, _ := changes.Value("killed").([]any)
	return change.New(a.Name, true, changes, fmt.Sprintf("Killed %d processes", len(killed))), nil
}

const noneText = "No matching processes running"
