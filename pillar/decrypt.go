package pillar

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/render"
)

// decrypt decrypts the keys in decrypt_pillar with their renderers (Pillar.decrypt_pillar).
func (w *compilation) decrypt(ctx context.Context, pillar *data.Map) (*data.Map, error) {
	option := w.opts.Value("decrypt_pillar")
	if !data.Truth(option) {
		return pillar, nil
	}
	keys := decryptKeys(option)
	var errs []any
	if keys.Len() == 0 {
		errs = append(errs, "decrypt_pillar config option is malformed")
	}
	delim := firstText(w.opts.Text("decrypt_pillar_delimiter"), ":")
	for key, renderer := range keys.All() {
		path := strings.Split(key.(string), delim)
		value, ok := at(pillar, path)
		if !ok || value == nil {
			w.Log.Debugf("Pillar key %s not present", key)
			continue
		}
		name, _ := renderer.(string)
		clear, err := w.engine.Decrypt(ctx, value,
			render.Input{Default: firstText(name, w.opts.Text("decrypt_pillar_default"), "gpg")})
		if err != nil {
			errs = append(errs, fmt.Sprintf("Failed to decrypt pillar key '%s': %s", key, err))
			continue
		}
		pillar = replace(pillar, path, clear)
	}
	if len(errs) > 0 {
		old, _ := pillar.Value("_errors").([]any)
		pillar = replace(pillar, []string{"_errors"}, append(slices.Clip(old), errs...))
	}
	return pillar, ctx.Err()
}

// decryptKeys parses the option: a dictionary of keys and renderers, or a list of keys and such
// dictionaries (salt/utils/data.py, repack_dictlist). A list with any other element counts as
// empty.
func decryptKeys(option any) *data.Map {
	if m, ok := option.(*data.Map); ok {
		return m
	}
	list, _ := option.([]any)
	out := data.NewMap()
	for _, v := range list {
		switch v := v.(type) {
		case string:
			out.Set(v, nil)
		case *data.Map:
			if v.Len() != 1 {
				return nil
			}
			key, renderer := v.At(0)
			out.Set(data.Str(key), renderer)
		default:
			return nil
		}
	}
	return out
}

func at(m *data.Map, path []string) (any, bool) {
	value, ok := m.Get(path[0])
	if !ok || len(path) == 1 {
		return value, ok
	}
	below, ok := value.(*data.Map)
	if !ok {
		return nil, false
	}
	return at(below, path[1:])
}

// replace returns a copy of m with another value at a path. All keys of the path but the last must
// exist.
func replace(m *data.Map, path []string, value any) *data.Map {
	out := m.Clone()
	if len(path) > 1 {
		below, _ := m.Value(path[0]).(*data.Map)
		value = replace(below, path[1:], value)
	}
	out.Set(path[0], value)
	return out
}
