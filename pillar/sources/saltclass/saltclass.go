// Package saltclass is the external pillar of that name.
package saltclass

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pillar/saltclass"
	"github.com/brineproject/brine/render/saltjinja"
)

// A Source is the external pillar saltclass: nodes and classes in YAML files
// (salt/pillar/saltclass.py), see package pillar/saltclass. Its argument is the directory: a
// dictionary with path, or a list of them, of which the last counts.
type Source struct{}

// Name implements Source.
func (Source) Name() string { return "saltclass" }

// Check implements Checker.
func (Source) Check(argument any, _ *data.Map) error {
	_, err := classPath(argument)
	return err
}

// classPath returns the directory of an entry.
func classPath(argument any) (string, error) {
	list, kwargs := pillar.Spread(argument)
	if kwargs != nil {
		list = []any{kwargs}
	}
	if len(list) == 0 {
		return "", errors.New("path is not set")
	}
	path := ""
	for _, e := range list {
		m, ok := e.(*data.Map)
		if !ok {
			return "", fmt.Errorf("expected path: DIRECTORY, not %s", data.Repr(e))
		}
		if path = "/srv/saltclass"; m.Has("path") {
			if path, ok = m.Value("path").(string); !ok {
				return "", errors.New("path: expected a directory")
			}
		}
	}
	return path, nil
}

// Pillar implements Source.
func (Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	path, err := classPath(q.Argument)
	if err != nil {
		return nil, err
	}
	node := saltclass.Node{ID: q.ID, Path: path, Opts: q.Opts, Grains: q.Grains, Pillar: q.Pillar,
		Salt: saltjinja.Functions(q.Engine.Env()), Log: q.Log}
	found, seen, err := node.Pillars(ctx)
	if err != nil {
		return nil, err
	}
	return pillar.Merge(q.Opts, seen, found), nil
}
