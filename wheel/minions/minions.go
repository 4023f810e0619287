// Package minions is Salt's wheel module minions (salt/wheel/minions.py).
package minions

import (
	"context"
	"errors"

	"github.com/brineproject/brine/loader"
)

// Plugin returns the wheel module minions. connections returns the ids of the connected minions.
func Plugin(connections func() ([]string, error)) loader.Plugin {
	return loader.Plugin{Name: "minions", New: func(*loader.Env) (*loader.Module, error) {
		if connections == nil {
			return nil, errors.New("the connected minions are unknown")
		}
		m := &module{connections}
		return &loader.Module{Funcs: []loader.Func{loader.F("connected", m.connected)}}, nil
	}}
}

type module struct{ connections func() ([]string, error) }

// connected returns the minions that are connected to the master.
//
// CLI Example:
//
//	salt-call saltutil.wheel minions.connected
func (m *module) connected(context.Context, loader.NoArgs) (any, error) {
	ids, err := m.connections()
	if err != nil {
		return nil, err
	}
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return list, nil
}
