package tops

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// ownSource is a system of users' own code.
type ownSource struct {
	name      string
	functions func() *loader.Registry
}

// Own returns the system NAME of users' own code: the function NAME.top of the registry that
// functions returns (salt/daemons/masterapi.py, _master_tops). The function gets the minion's
// options as opts and its grains as grains. It finds its configuration in __opts__.
func Own(name string, functions func() *loader.Registry) Source { return &ownSource{name, functions} }

// Name implements Source.
func (s *ownSource) Name() string { return s.name }

// Check implements Source. Only the function itself knows its configuration.
func (s *ownSource) Check(any) error { return nil }

// Top implements Source.
func (s *ownSource) Top(ctx context.Context, q Query) (*data.Map, error) {
	functions, fun := s.functions(), s.name+".top"
	if !functions.Has(fun) {
		return nil, fmt.Errorf("the top file of users' own code: %s", functions.MissingText(fun))
	}
	v, err := functions.Invoke(ctx, fun, nil, data.NewMap("opts", q.Opts, "grains", q.Grains))
	if err != nil {
		q.Log.Errorf("function top of %s, for minion %s: %s", s.name, q.ID, loader.Traceback(err))
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok && data.Truth(v) {
		return nil, fmt.Errorf("it returned %.60s, which is no dictionary", data.Repr(v))
	}
	return m, nil
}
