// Package stateconf is Salt's state stateconf: the declarations that the renderer of the same name
// leaves behind. They do nothing (salt/states/stateconf.py).
package stateconf

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the state stateconf.
func Plugin() loader.Plugin { return loader.Plugin{Name: "stateconf", New: newModule} }

func newModule(*loader.Env) (*loader.Module, error) {
	return &loader.Module{Funcs: []loader.Func{
		loader.F("set", set),
		loader.F("set", set).Alias("context"),
	}}, nil
}

type setArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// set does nothing: the renderer stateconf has already made variables of its arguments.
//
//	.params:
//	  stateconf.set:
//	    - port: 8080
func set(_ context.Context, a setArgs) (any, error) {
	return data.NewMap("name", a.Name, "result", true, "changes", &data.Map{}, "comment", ""), nil
}
