package pillar

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar/saltclass"
	"github.com/brineproject/brine/render/saltjinja"
)

// SaltClass is the external pillar saltclass: nodes and classes in YAML files (salt/pillar/saltclass.py). Package
// pillar/saltclass tells of them. Its argument is the directory: a dictionary with path, or a list of such, of which the last counts.
type SaltClass struct{}

// Name implements Source.
func (SaltClass) Name() string { return "saltclass" }

// Check implements Checker.
func (SaltClass) Check(argument any, _ *data.Map) error {
	_, err := classPath(argument)
	return err
}

// classPath is the directory that an entry names.
func classPath(argument any) (string, error) {
	list, kwargs := Spread(argument)
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
			return "", fmt.Errorf("expected path: FOLDER, not %s", data.Repr(e))
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
func (SaltClass) Pillar(ctx context.Context, q Query) (*data.Map, error) {
	path, err := classPath(q.Argument)
	if err != nil {
		return nil, err
	}
	node := saltclass.Node{ID: q.ID, Path: path, Opts: q.Opts, Grains: q.Grains, Pillar: q.Pillar, Salt: saltjinja.Functions(q.Engine.Env()), Log: q.Log}
	found, seen, err := node.Pillars(ctx)
	if err != nil {
		return nil, err
	}
	return Merge(q.Opts, seen, found), nil
}
