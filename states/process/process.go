// Package process is Salt's state process: it ends programs (salt/states/process.py).
//
// What is odd, and as in Salt: test mode looks for the pattern in the names of processes, the real run in their whole command lines.
package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
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

// absent ends the processes whose command line holds a text.
//
// name
//
//	The text.
//
// user
//
//	Only processes of this user. Default: those of all users.
//
// signal
//
//	The number of the signal that they get. Default: 15, SIGTERM.
//
//	httpd-absent:
//	  process.absent:
//	    - name: apache2
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	if change.Test(ctx) {
		running, err := m.env.Call(ctx, "ps.pgrep", []any{a.Name}, data.NewMap("user", a.User))
		if err != nil {
			return nil, err
		}
		if list, ok := running.([]any); ok && len(list) > 0 {
			return change.Would(a.Name, nil, fmt.Sprintf("%d processes will be killed", len(list))), nil
		}
		return change.Would(a.Name, nil, noneText), nil
	}
	options := data.NewMap("user", a.User, "full", true)
	if data.Truth(a.Signal) {
		options.Set("signal", a.Signal)
	}
	status, err := m.env.Call(ctx, "ps.pkill", []any{a.Name}, options)
	if err != nil {
		return nil, err
	}
	changes, ok := status.(*data.Map)
	if !ok || changes.Len() == 0 {
		return change.Done(a.Name, noneText), nil
	}
	killed, _ := changes.Value("killed").([]any)
	return change.New(a.Name, true, changes, fmt.Sprintf("Killed %d processes", len(killed))), nil
}

const noneText = "No matching processes running"
