package match

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// data returns whether a value of the minion's datastore (the module data) matches: a string or an
// element of a list by a glob, a dictionary by one of its keys.
//
// CLI Example:
//
//	salt '*' match.data 'spam:eggs'
func (m *module) data(ctx context.Context, a targetArgs) (any, error) {
	tgt, _ := a.Tgt.(string)
	key, pattern, ok := strings.Cut(tgt, ":")
	if !ok {
		return false, nil
	}
	pattern, _, _ = strings.Cut(pattern, ":")
	v, err := calls.DataGet[any](ctx, m.env, key)
	if err != nil {
		m.env.Log.WithError(err).Errorf("Unable to evaluate match.data %s", tgt)
		return false, nil
	}
	return matchesValue(v, pattern), nil
}

// matchesValue compares like salt/matchers/data_match.py.
func matchesValue(v any, pattern string) bool {
	switch v := v.(type) {
	case nil:
		return false
	case *data.Map:
		return v.Has(pattern)
	case []any:
		for _, e := range v {
			if loader.Glob(strings.ToLower(pattern), strings.ToLower(data.Str(e))) {
				return true
			}
		}
		return false
	}
	return loader.Glob(pattern, data.Str(v))
}
