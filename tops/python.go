package tops

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pylibrary"
)

// Reclass is the system reclass: the applications of a node of reclass (salt/tops/reclass_adapter.py).
// Its value has the arguments of the library's function top; package pillar/sources/reclass describes
// them. As the external pillar, and unlike Salt's master_tops, it uses the first directory of
// file_roots if inventory_base_uri is missing.
type Reclass struct{}

// Varstack is the system varstack: the key states of what the library varstack returns for the grains
// that the minion sent, in the environment base (salt/tops/varstack_top.py). Its value is the path of
// the library's configuration.
type Varstack struct{}

// Name implements Source.
func (Reclass) Name() string { return "reclass" }

// Name implements Source.
func (Varstack) Name() string { return "varstack" }

// Check implements Source.
func (Reclass) Check(config any) error {
	if _, ok := config.(*data.Map); !ok {
		return errors.New("expected a dictionary of the arguments of reclass")
	}
	return nil
}

// Check implements Source.
func (Varstack) Check(config any) error {
	if path, ok := config.(string); !ok || !filepath.IsAbs(path) {
		return errors.New("expected the path of a file")
	}
	return nil
}

// Top implements Source.
func (s Reclass) Top(ctx context.Context, q Query) (*data.Map, error) {
	if err := s.Check(q.Config); err != nil {
		return nil, err
	}
	v, err := pylibrary.Reclass("top", q.ID, q.Config.(*data.Map), q.Master).Do(ctx)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errors.New("reclass returned no dictionary")
	}
	return m, nil
}

// Top implements Source.
func (s Varstack) Top(ctx context.Context, q Query) (*data.Map, error) {
	if err := s.Check(q.Config); err != nil {
		return nil, err
	}
	v, err := pylibrary.Varstack(q.Config.(string), q.Grains).Do(ctx)
	if err != nil {
		return nil, err
	}
	m, _ := v.(*data.Map)
	states, ok := m.Value("states").([]any)
	if !ok {
		return nil, errors.New("varstack returned no list of states")
	}
	return data.NewMap("base", states), nil
}
