// Package error is Salt's runner error, which tests error handling (salt/runners/error.py).
package error

import (
	"context"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner error.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "error", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("error", fail)}}, nil
	}}
}

// fail raises an error of a Python or Salt class with a message; without a name it returns an empty
// dictionary.
//
// CLI Example:
//
//	salt-run error.error
//	salt-run error.error name="Exception" message="This is an error."
func fail(_ context.Context, a runners.RaiseArgs) (any, error) { return a.Raise() }
