package tops

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar/saltclass"
)

// SaltClass is the system saltclass: the states of a node and of its classes
// (salt/tops/saltclass.py). Package pillar/saltclass describes the files. Their directory is path,
// by default /srv/saltclass. Templates see the options and grains that the minion sent, and no
// functions.
type SaltClass struct{}

// Name implements Source.
func (SaltClass) Name() string { return "saltclass" }

// Check implements Source.
func (SaltClass) Check(config any) error {
	_, err := classPath(config)
	return err
}

func classPath(config any) (string, error) {
	m, ok := config.(*data.Map)
	if !ok {
		return "", errors.New("expected path: DIRECTORY")
	}
	v, ok := m.Get("path")
	if !ok {
		return "/srv/saltclass", nil
	}
	path, ok := v.(string)
	if !ok {
		return "", errors.New("path: expected a directory")
	}
	return path, nil
}

// Top implements Source.
func (SaltClass) Top(ctx context.Context, q Query) (*data.Map, error) {
	path, err := classPath(q.Config)
	if err != nil {
		return nil, err
	}
	return saltclass.Node{ID: q.ID, Path: path, Opts: q.Opts, Grains: q.Grains, Log: q.Log}.Top(ctx)
}
