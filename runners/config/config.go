// Package config is Salt's runner config: it looks up the master's options
// (salt/runners/config.py).
package config

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner config.
func Plugin() loader.Plugin { return loader.Plugin{Name: "config", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("get", m.get).SecretResult()}}, nil
}

type getArgs struct {
	Key       string
	Default   any    `default:"''"`
	Delimiter string `default:"':'"`
}

// get returns an option of the master.
//
// key
//
//	The option, or a path into one: file_roots:base.
//
// default
//
//	The result if the option does not exist.
//
// delimiter
//
//	The separator of the names in a path.
//
// CLI Example:
//
//	salt-run config.get gitfs_remotes
//	salt-run config.get file_roots:base
//	salt-run config.get file_roots,base delimiter=','
func (m *module) get(_ context.Context, a getArgs) (any, error) {
	v, ok := data.Lookup(m.env.Opts, a.Key, a.Delimiter)
	if !ok {
		return a.Default, nil
	}
	if text, isText := v.(string); isText && strings.HasPrefix(text, "sdb://") {
		return nil, &runners.UnableError{Text: "The option is an address sdb://, which this release cannot look up."}
	}
	return v, nil
}
