package state

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

// slsExists reports whether some SLS compile. Its arguments are those of state.show_sls.
//
// CLI Example:
//
//	salt '*' state.sls_exists core,edit.vim saltenv=dev
func (m *module) slsExists(ctx context.Context, a slsArgs) (any, error) {
	high, err := m.showSLS(ctx, a)
	_, ok := high.(*data.Map)
	return ok, err
}

type idArgs struct {
	IDs    any `name:"ids"`
	Mods   any
	Test   any       `default:"None"`
	Queue  any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// idExists reports whether some SLS contain states with all of the given IDs. Its other arguments
// are those of state.show_sls.
//
// ids
//
//	The IDs: a list, or IDs separated by commas.
//
// CLI Example:
//
//	salt '*' state.id_exists create_myfile,update_template filestate saltenv=dev
func (m *module) idExists(ctx context.Context, a idArgs) (any, error) {
	v, err := m.showLowSLS(ctx, slsArgs{Mods: a.Mods, Test: a.Test, Queue: a.Queue,
		Kwargs: a.Kwargs})
	if err != nil {
		return nil, err
	}
	there := data.NewMap()
	for _, item := range v.([]any) {
		chunk, ok := item.(*data.Map)
		if !ok {
			return nil, loader.TypeError("string indices must be integers, not 'str'")
		}
		there.Set(state.Chunk{Map: chunk}.ID(), true)
	}
	for _, id := range split(a.IDs) {
		if !data.Hashable(id) {
			return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(id))
		}
		if !there.Has(id) {
			return false, nil
		}
	}
	return true, nil
}
